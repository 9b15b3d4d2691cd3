import { SHRINKAGES, type ShrinkageChoice } from "../../src/contract/config/panel-settings.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { adaptiveIntervals } from "../../src/evaluate/intervals/adaptive-intervals.ts";
import { type Bounds, splitIntervals } from "../../src/evaluate/intervals/conformal.ts";
import { shrinkageFactors } from "../../src/evaluate/shrinkage.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import type { Table } from "../table.ts";
import { marketFeatures, type NoiseName, ridgeMarket, rowsBetween } from "./skill-markets.ts";

const TICKERS = 40;
const HELD_OUT = [75, 225, 500, 1_000];
const MAX_HELD_OUT = Math.max(...HELD_OUT);
const SCORED = 250;
const MARKETS = 40;
const ALPHA = 0.1;
const IC = 0.1;
const NOISES: readonly NoiseName[] = ["fat tails", "GARCH"];

const METHODS = {
  split: (residuals, { predicted }) => splitIntervals(residuals, predicted, ALPHA, "both"),
  adaptive: (residuals, rows) => {
    // A label is known on the date after its row.
    const labelDays = rows.days.map((day) => day + 1);
    return adaptiveIntervals(residuals, { ...rows, labelDays }, ALPHA, "both");
  },
} as const satisfies Record<string, (residuals: ForecastRows, rows: ForecastRows) => Bounds>;

type Method = keyof typeof METHODS;

/**
 * The coverage of intervals whose shrinkage factor comes from the same residuals, compared with intervals whose factor comes from as many
 * earlier rows. About a minute; does not depend on the machine.
 */
export function shrinkageCoverageTable(): Table {
  const features = marketFeatures(TICKERS, 2 * MAX_HELD_OUT + SCORED, 13);
  const rows: string[][] = [];
  for (const noise of NOISES) {
    const markets = Array.from({ length: MARKETS }, (_, seed) =>
      ridgeMarket(features, 2 * MAX_HELD_OUT + SCORED, { noise, ic: IC, seed: 900 + seed }),
    );
    for (const heldOut of HELD_OUT) {
      for (const choice of SHRINKAGES) {
        const cells = (Object.keys(METHODS) as Method[]).map((method) => {
          const same = coverages(markets, { choice, heldOut, method, isEarlier: false });
          const earlier = coverages(markets, { choice, heldOut, method, isEarlier: true });
          return `${percent(mean(same))}; ${percent(lowTenth(same))} (${percent(mean(earlier))}; ${percent(lowTenth(earlier))})`;
        });
        rows.push([noise, `${heldOut}`, choice, ...cells]);
        process.stderr.write(`${rows.at(-1)!.join("  ")}\n`);
      }
    }
  }
  return {
    title: `coverage of 90 % after shrinkage, and what nine tenths of tickers exceed; in brackets with a factor from earlier rows`,
    header: ["noise", "held-out rows", "shrinkage", ...Object.keys(METHODS)],
    rows,
  };
}

interface Case {
  readonly choice: ShrinkageChoice;
  readonly heldOut: number;
  readonly method: Method;
  /** Whether the factor comes from the rows before the residuals. */
  readonly isEarlier: boolean;
}

/** The share of score rows inside, for each ticker of each market. */
function coverages(markets: readonly (readonly ForecastRows[])[], one: Case): Float64Array {
  const { choice, heldOut, method, isEarlier } = one;
  const start = 2 * MAX_HELD_OUT;
  return Float64Array.from(
    markets.flatMap((market) => {
      const residuals = rowsBetween(market, start - heldOut, start);
      const learned = isEarlier ? rowsBetween(market, start - 2 * heldOut, start - heldOut) : residuals;
      const factors = shrinkageFactors(choice, learned);
      const shrunk = (row: ForecastRows): ForecastRows => ({
        ...row,
        predicted: row.predicted.map((value) => factors.byTicker.get(row.ticker)! * value),
      });
      const score = rowsBetween(market, start, start + SCORED).map(shrunk);
      return score.map((row, i) => {
        const { lower, upper } = METHODS[method](shrunk(residuals[i]!), row);
        return row.realised.filter((y, k) => y >= lower[k]! && y <= upper[k]!).length / SCORED;
      });
    }),
  );
}

function lowTenth(values: Float64Array): number {
  return values.toSorted()[Math.floor(values.length / 10)]!;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
