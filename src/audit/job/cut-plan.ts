import type { Day } from "../../contract/market/dates.ts";

/** The dates after which the blobs are cut, and the end of learning in every run. */
export interface CutPlan {
  readonly learningEnd: Day;
  /** Whether the blobs leave no date to forecast after their own cut, so that the audit chooses an earlier one. */
  readonly isChosen: boolean;
  /** Ascending, after `learningEnd` and before the last date. */
  readonly cutAfter: readonly Day[];
}

/** A cut that the audit chooses leaves this share of the dates for learning. */
const LEARNED_SHARE = 0.75;

/**
 * Spreads `truncations` dates evenly over those after the cut.
 * @param dates shape (n), ascending: the price dates of the window.
 * @param learningEnd the blobs' own `Learning_end`.
 * @returns undefined if there are too few dates to cut.
 */
export function planCuts(
  dates: Int32Array,
  learningEnd: Day | undefined,
  truncations: number,
): CutPlan | undefined {
  const own = learningEnd ?? Number.POSITIVE_INFINITY;
  const isChosen = datesBetween(dates, own).length === 0;
  const cut = isChosen ? dates[Math.floor(LEARNED_SHARE * dates.length) - 1] : own;
  if (cut === undefined) return undefined;
  const later = datesBetween(dates, cut);
  if (later.length === 0) return undefined;
  return { learningEnd: cut, isChosen, cutAfter: spread(later, truncations) };
}

/** The dates after `cut` and before the last one: the blobs that end with the last one are the whole blobs. */
function datesBetween(dates: Int32Array, cut: Day): Int32Array {
  return dates.filter((day, i) => day > cut && i < dates.length - 1);
}

function spread(dates: Int32Array, truncations: number): Day[] {
  const n = Math.min(truncations, dates.length);
  return Array.from({ length: n }, (_, i) => dates[Math.floor(((i + 1) * dates.length) / (n + 1))]!);
}
