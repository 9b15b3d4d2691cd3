import { atOnce } from "../contract/machine/pausable.ts";
import type { Verdict } from "../contract/output/verdict.ts";
import { labelled } from "../evaluate/forecast-rows.ts";
import { coverageByDate } from "../evaluate/verdict/coverage-by-date.ts";
import { type JudgedSet, verdictOf } from "../evaluate/verdict/verdict.ts";
import type { OutputDocument } from "./open-document.ts";

/**
 * The verdict of an output: the one that its job wrote or, of an older version, that of its own rows. Older outputs have neither the
 * training means of out-of-fold rows nor the held-out rows of networks, so less can be shown of them.
 * @returns undefined for an output without a ticker.
 */
export function outputVerdict(output: OutputDocument): Verdict | undefined {
  const { verdict, metrics } = output.document;
  if (verdict !== undefined) return verdict;
  const sets = judgedSets(output);
  return sets.length === 0 ? undefined : atOnce(verdictOf(sets, metrics.intervals?.alpha));
}

/** What the rows of an output let be judged anew: held-out rows first. */
export function judgedSets({ document, rows, outOfFold }: OutputDocument): JudgedSet[] {
  const sets: JudgedSet[] = [];
  if (outOfFold !== undefined && outOfFold.length > 0) {
    sets.push({ rows: "out_of_fold", forecasts: outOfFold });
  }
  const forecasts = rows.map(labelled).filter(({ days }) => days.length > 0);
  if (forecasts.length > 0 || (sets.length === 0 && rows.length > 0)) {
    const hasIntervals = document.metrics.intervals !== null;
    sets.push({
      rows: "score",
      forecasts,
      coverage: hasIntervals ? atOnce(coverageByDate(rows)) : undefined,
    });
  }
  return sets;
}
