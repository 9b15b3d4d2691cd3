import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { sortedByDate } from "../../src/evaluate/rows-by-date.ts";
import { dateShrinkage, shrinkageTable } from "../../src/evaluate/shrinkage.ts";
import { orderByDate } from "../../src/evaluate/verdict/order.ts";
import { horizonSkill } from "../../src/report/statistics/horizon-skill.ts";
import {
  type Band,
  bandOf,
  bandQuantile,
  dateSums,
  HIT_RATE,
  meanBand,
  ratioOverDates,
} from "../../src/report/statistics/over-dates.ts";
import { quantileReturns } from "../../src/report/statistics/quantile-returns.ts";
import type { Table } from "../table.ts";
import { nullMarket } from "./null-market.ts";

const DATES = [30, 60, 250, 1_000];
const TICKERS = 20;
const MARKETS = 1_000;
const NORMAL = 1.959964;

/** A band, the expected result, and how far it was too short before: the half-width divided by the earlier one. */
interface Found {
  readonly band: Band | null;
  readonly truth: number;
  readonly shorter: number;
}

type Figure = (rows: readonly ForecastRows[], dates: number) => Found;

const slope: Figure = (rows, dates) => {
  const { b, se } = dateShrinkage(rows);
  // Before, White's error over rows.
  const { pooled } = shrinkageTable(rows);
  return {
    band: bandOf(b, se, dates),
    truth: 0,
    shorter: (bandQuantile(dates) * se!) / (NORMAL * pooled.se!),
  };
};

/** Half of the variance of such forecasts is the same for all tickers of a date. */
const TOGETHER = 0.5;
const SLOPE_TOGETHER = "slope, forecasts that move together";

const FIGURES: Readonly<Record<string, Figure>> = {
  "mean IC": (rows, dates) => {
    const { values } = orderByDate(rows);
    return { band: meanBand(values), truth: 0, shorter: bandQuantile(dates) / NORMAL };
  },
  "hit rate": (rows, dates) => {
    const { band } = ratioOverDates(dateSums(sortedByDate(rows), HIT_RATE));
    return { band, truth: 0.5, shorter: bandQuantile(dates) / NORMAL };
  },
  "quantile spread": (rows, dates) => {
    const { spread } = quantileReturns(sortedByDate(rows), 5);
    return { band: meanBand(spread.values), truth: 0, shorter: bandQuantile(dates) / NORMAL };
  },
  slope,
  [SLOPE_TOGETHER]: slope,
  ...Object.fromEntries(
    [5, 20].map((horizon) => [
      `IC over ${horizon} days`,
      (rows: readonly ForecastRows[], dates: number) => ({
        band: horizonSkill(rows, horizon)?.band ?? null,
        truth: 0,
        shorter: bandQuantile(dates - horizon + 1) / NORMAL,
      }),
    ]),
  ),
};

/** How often a 95 % band of a report excludes the truth, in markets without skill. Takes a minute; does not depend on the machine. */
export function bandTable(): Table {
  const rows = Object.entries(FIGURES).map(([name, of]) => [
    name,
    ...DATES.map((dates) => excludedText(of, dates, name === SLOPE_TOGETHER ? TOGETHER : 0)),
  ]);
  return {
    title: `95 % bands that exclude the truth; in brackets with the normal quantile and, of the slope, White's error (${TICKERS} tickers, ${MARKETS} markets)`,
    header: ["figure", ...DATES.map((dates) => `${dates} dates`)],
    rows,
  };
}

function excludedText(of: Figure, dates: number, together: number): string {
  let [counted, excluded, before] = [0, 0, 0];
  for (let seed = 1; seed <= MARKETS; seed++) {
    const [rows] = nullMarket({ seed, tickers: TICKERS, dates, outputs: 1, correlation: 0, together });
    const { band, truth, shorter } = of(rows!, dates);
    if (band === null) continue;
    counted++;
    if (band.low > truth || band.high < truth) excluded++;
    const half = (band.high - band.low) / 2 / shorter;
    if (Math.abs((band.low + band.high) / 2 - truth) > half) before++;
  }
  if (counted === 0) return "no band";
  return `${percent(excluded / counted)} (${percent(before / counted)})`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
