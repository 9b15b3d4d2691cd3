import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { intervalTables, type TickerIntervals, tickerIntervals } from "./ticker-intervals.ts";

/** Intervals of one ticker; all labels but the last are known. */
function intervalsOf(ticker: string, residuals: number, alpha: number): TickerIntervals {
  const random = seededRandom(ticker.charCodeAt(0));
  const draws = (n: number) => Float64Array.from({ length: n }, () => 0.01 * random.normal());
  const days = Int32Array.from({ length: 40 }, (_, i) => i);
  const realised = draws(40);
  realised[39] = Number.NaN;
  const rows = {
    days,
    labelDays: days.map((day) => day + 1),
    realised,
    predicted: draws(40),
    volatility: draws(40),
  };
  const before = Int32Array.from({ length: residuals }, (_, i) => i - residuals);
  const past = {
    days: before,
    labelDays: before.map((day) => day + 1),
    realised: draws(residuals),
    predicted: draws(residuals),
  };
  return tickerIntervals(ticker, rows, past, { method: "adaptive", alpha, bound: "both" }).intervals!;
}

test("judges the other method on rows for which the requested method has ends too", () => {
  // 9 residuals support alpha 0.1 from the first row on; adaptive has ends on rows that follow 9 scores.
  const [early, late] = [intervalsOf("A", 9, 0.1), intervalsOf("B", 4, 0.1)];
  const { by_ticker, others } = intervalTables([early, late], 0.1);
  const split = others.get("split")!;
  assert.deepEqual([by_ticker.get("A")!.n, split.by_ticker.get("A")!.n], [39, 39]);
  assert.deepEqual([by_ticker.get("B")!.n, split.by_ticker.get("B")!.n], [34, 0]);
  const score = (of: typeof by_ticker) => of.get("A")!.interval_score!;
  assert.ok(Math.abs(split.score_ratio! - score(by_ticker) / score(split.by_ticker)) < 1e-12);
});
