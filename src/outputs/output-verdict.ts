import type { Intervals } from "../contract/config/panel-settings.ts";
import type { Verdict } from "../contract/output/verdict.ts";
import { type ForecastRows, labelled } from "../evaluate/forecast-rows.ts";
import { coverageByDate } from "../evaluate/intervals/coverage.ts";
import { headlined, type JudgedSet, verdictOf } from "../evaluate/verdict/verdict.ts";
import type { OutputSummary } from "./output-summary.ts";
import type { ScoredRows } from "./scored-rows.ts";

/** The verdict of score rows only, such as those that several outputs share. */
export function scoreVerdict(
  { metrics: { intervals } }: OutputSummary,
  rows: readonly ScoredRows[],
): Verdict {
  const forecasts = rows.map(labelled).filter(({ days }) => days.length > 0);
  const set: JudgedSet = { rows: "score", forecasts };
  if (intervals === null) return verdictOf([set], undefined);
  const byDate = coverageByDate(rows);
  const n = byDate.counted.reduce((sum, count) => sum + count, 0);
  // An output has the coverage by volatility of all its rows, but not of some of them.
  const coverage = { byDate, byVolatility: n === intervals.pooled.n ? intervals.by_volatility : undefined };
  // Outputs that name no method come from a version that only had `split`.
  const settings: Pick<Intervals, "alpha" | "method"> = {
    alpha: intervals.alpha,
    method: intervals.method ?? "split",
  };
  return verdictOf([{ ...set, coverage }], settings);
}

/**
 * The verdict of out-of-fold rows only. For all rows of the output it is the job's, which knows the training means; for some of them, or for
 * an output of 0.2.0, it is computed without these means and contains less.
 * @param rows all labelled.
 */
export function outOfFoldVerdict(
  { verdict, metrics }: OutputSummary,
  rows: readonly ForecastRows[],
): Verdict {
  const recorded = verdict?.judged.find((set) => set.rows === "out_of_fold");
  const count = rows.reduce((sum, { days }) => sum + days.length, 0);
  if (recorded !== undefined && count === metrics.out_of_fold?.pooled.n) return headlined([recorded]);
  return verdictOf([{ rows: "out_of_fold", forecasts: rows }], undefined);
}
