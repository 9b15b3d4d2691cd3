import type { Intervals } from "../contract/config/intervals.ts";
import type { Verdict } from "../contract/output/verdict.ts";
import { type ForecastRows, labelled } from "../evaluate/forecast-rows.ts";
import { coverageByDate, type IntervalEvidence } from "../evaluate/verdict/findings.ts";
import { headlined, type JudgedSet, verdictOf } from "../evaluate/verdict/verdict.ts";
import type { OutputDocument } from "./open-document.ts";
import type { OutputSummary } from "./output-summary.ts";
import type { ScoredRows } from "./scored-rows.ts";

/**
 * The verdict of an output: the one that its job wrote or, for an older version, one computed from its rows. Older outputs have neither the
 * training means of out-of-fold rows nor the held-out rows of networks, so their verdict contains less.
 * @returns undefined for an output without a ticker.
 */
export function outputVerdict(output: OutputDocument): Verdict | undefined {
  const { verdict, metrics } = output.document;
  if (verdict !== undefined) return verdict;
  if (output.rows.length === 0) return undefined;
  const { outOfFold = [] } = output;
  const heldOut: JudgedSet[] = outOfFold.length === 0 ? [] : [{ rows: "out_of_fold", forecasts: outOfFold }];
  const score = scoreSet(output.document, output.rows);
  return verdictOf([...heldOut, score], intervalsOf(metrics));
}

/** The verdict of score rows only, such as those that several outputs share. */
export function scoreVerdict(document: OutputSummary, rows: readonly ScoredRows[]): Verdict {
  return verdictOf([scoreSet(document, rows)], intervalsOf(document.metrics));
}

/**
 * The verdict of out-of-fold rows only. For all rows of the output it is the job's, which knows the training means; for some of them, or an
 * older output, it is computed without these means and contains less.
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

/** Outputs that name no method come from a version that only had `split`. */
function intervalsOf({
  intervals,
}: OutputSummary["metrics"]): Pick<Intervals, "alpha" | "method"> | undefined {
  return intervals === null ? undefined : { alpha: intervals.alpha, method: intervals.method ?? "split" };
}

function scoreSet({ metrics }: OutputSummary, rows: readonly ScoredRows[]): JudgedSet {
  return {
    rows: "score",
    forecasts: rows.map(labelled).filter(({ days }) => days.length > 0),
    coverage: metrics.intervals === null ? undefined : evidenceOf(metrics.intervals, rows),
  };
}

/** An output has the coverage by volatility of all its rows, but not of some of them. */
function evidenceOf(
  { pooled, by_volatility }: NonNullable<OutputSummary["metrics"]["intervals"]>,
  rows: readonly ScoredRows[],
): IntervalEvidence {
  const byDate = coverageByDate(rows);
  const n = byDate.counted.reduce((sum, count) => sum + count, 0);
  return { byDate, byVolatility: n === pooled.n ? by_volatility : undefined };
}
