import type { Pausable } from "../contract/machine/pausable.ts";
import type { Coverage } from "../contract/output/output-blob.ts";
import type { Bounds } from "./conformal.ts";
import { inTickerOrder } from "./forecast-rows.ts";
import { finiteOrNull } from "./statistics.ts";

/** Score rows of one ticker: shape (n) each, NaN where a label or an end does not exist. */
interface IntervalRows extends Bounds {
  readonly ticker: string;
  readonly realised: Float64Array;
}

/** Tickers ascend by code point. */
export interface CoverageTable {
  readonly pooled: Coverage;
  readonly by_ticker: ReadonlyMap<string, Coverage>;
}

interface Tally {
  n: number;
  inside: number;
  twoSided: number;
  width: number;
}

/**
 * How often labels fell inside their intervals, ends included, per ticker and pooled: a reader compares it with the
 * 1 - alpha asked for. `n` counts score rows with a label and an interval; the mean width is a log-return, null for
 * one-sided intervals.
 * @param rows tickers in any order; the table is the same, byte for byte.
 */
export function* coverageTable(rows: readonly IntervalRows[]): Pausable<CoverageTable> {
  const by_ticker = new Map<string, Coverage>();
  const pooled: Tally = { n: 0, inside: 0, twoSided: 0, width: 0 };
  for (const row of inTickerOrder(rows)) {
    const tally = tallyOf(row);
    pooled.n += tally.n;
    pooled.inside += tally.inside;
    pooled.twoSided += tally.twoSided;
    pooled.width += tally.width;
    by_ticker.set(row.ticker, coverageOf(tally));
    yield 0;
  }
  return { pooled: coverageOf(pooled), by_ticker };
}

function tallyOf({ realised, lower, upper }: IntervalRows): Tally {
  const tally: Tally = { n: 0, inside: 0, twoSided: 0, width: 0 };
  for (let i = 0; i < realised.length; i++) {
    const y = realised[i]!;
    const low = lower[i]!;
    const high = upper[i]!;
    if (Number.isNaN(y) || (Number.isNaN(low) && Number.isNaN(high))) continue;
    tally.n++;
    if (!(y < low) && !(y > high)) tally.inside++;
    if (Number.isNaN(low) || Number.isNaN(high)) continue;
    tally.twoSided++;
    tally.width += high - low;
  }
  return tally;
}

function coverageOf({ n, inside, twoSided, width }: Tally): Coverage {
  return { n, coverage: finiteOrNull(inside / n), mean_width: finiteOrNull(width / twoSided) };
}
