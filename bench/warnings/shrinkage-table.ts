import { SHRINKAGES, type ShrinkageChoice } from "../../src/contract/config/panel-settings.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { splitIntervals } from "../../src/evaluate/intervals/conformal.ts";
import { shrinkageFactors } from "../../src/evaluate/shrinkage.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { orderByDate } from "../../src/evaluate/verdict/order.ts";
import { sizeTests } from "../../src/evaluate/verdict/sizes.ts";
import type { Table } from "../table.ts";
import { firstDates, marketFeatures, ridgeMarket, rowsBetween } from "./skill-markets.ts";

const TICKERS = 40;
/** As many as 15 folds of 15 rows. */
const HELD_OUT = 225;
const SCORED = 750;
const MARKETS = 40;
const ALPHA = 0.1;
const SIGNALS = [0, 0.05, 0.1, 0.2];

/**
 * The effect of shrinkage on the order and the sizes of forecasts of later dates, and on the coverage of intervals from the same held-out
 * rows.
 */
export function shrinkageBenchTable(): Table {
  const features = marketFeatures(TICKERS, HELD_OUT + SCORED, 11);
  const rows = SIGNALS.flatMap((ic) => {
    const markets = Array.from({ length: MARKETS }, (_, seed) =>
      ridgeMarket(features, HELD_OUT + SCORED, { noise: "GARCH", ic, seed: 500 + seed }),
    );
    return SHRINKAGES.map((choice) => {
      const found = markets.map((market) => outcomeOf(market, choice));
      const average = (of: (outcome: Outcome) => number) => mean(Float64Array.from(found, of));
      return [
        `${ic}`,
        choice,
        average(({ ic: order }) => order).toFixed(4),
        `${(100 * average(({ r2 }) => r2)).toFixed(2)} %`,
        `${(100 * average(({ zeros }) => zeros)).toFixed(0)} %`,
        `${(100 * average(({ coverage }) => coverage)).toFixed(2)} %`,
      ];
    });
  });
  return {
    title: `shrinkage: ridge, ${TICKERS} tickers, ${HELD_OUT} held-out dates, ${SCORED} later ones, ${MARKETS} markets`,
    header: ["true IC", "shrinkage", "IC", "R²", "tickers at 0", "coverage of 90 %"],
    rows,
  };
}

interface Outcome {
  readonly ic: number;
  readonly r2: number;
  /** Share of the tickers whose forecasts are all 0. */
  readonly zeros: number;
  readonly coverage: number;
}

function outcomeOf(market: readonly ForecastRows[], choice: ShrinkageChoice): Outcome {
  const heldOut = firstDates(market, HELD_OUT);
  const factors = shrinkageFactors(choice, heldOut).byTicker;
  const shrunk = market.map((row) => {
    const factor = factors.get(row.ticker)!;
    return { ...row, predicted: row.predicted.map((value) => factor * value) };
  });
  const later = rowsBetween(shrunk, HELD_OUT, HELD_OUT + SCORED);
  const order = orderByDate(later).values;
  const covered = later.map((row, i) => coverageOf(firstDates([shrunk[i]!], HELD_OUT)[0]!, row));
  return {
    ic: order.length === 0 ? 0 : mean(order),
    r2: sizeTests(later).zero.r2 ?? 0,
    zeros: [...factors.values()].filter((factor) => factor === 0).length / TICKERS,
    coverage: mean(Float64Array.from(covered)),
  };
}

/** The share of later labels inside split intervals from the shrunk residuals of the held-out rows that gave the factor. */
function coverageOf(residuals: ForecastRows, { predicted, realised }: ForecastRows): number {
  const { lower, upper } = splitIntervals(residuals, predicted, ALPHA, "both");
  return realised.filter((y, i) => y >= lower[i]! && y <= upper[i]!).length / realised.length;
}
