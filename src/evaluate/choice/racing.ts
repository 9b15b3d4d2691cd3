import type { ChoiceMeasure } from "../../contract/config/choice/choice-config.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { MIN_DATES } from "../newey-west.ts";
import { countKnown, lossSeries, type TestedTicker } from "./candidate-losses.ts";
import { CommonDifferences } from "./known-differences.ts";
import { chosenMembers } from "./members.ts";

/** Candidates that a race has dropped, with the date from which they are no members. */
export type DroppedCandidates = ReadonlyMap<number, Day>;

export const NONE_DROPPED: DroppedCandidates = new Map();

/** A candidate is dropped if the mean of its losses exceeds the smallest by more than this many Newey-West errors. */
const MAX_T_BEHIND = 2;

/** Races compare candidates after each ticker has about as many further folds as this. */
const FOLDS_PER_ROUND = 5;

export function isDropped(dropped: DroppedCandidates, candidate: number, day: Day): boolean {
  const from = dropped.get(candidate);
  return from !== undefined && from <= day;
}

/**
 * The dates on which a race compares its candidates, ascending: each is the first date of a fold, and between two of them lie about
 * FOLDS_PER_ROUND folds of each ticker, exactly if the folds of all tickers have the same dates.
 * @param folds of a ticker with all folds.
 */
export function comparisonDays(tickers: readonly Pick<TestedTicker, "folds">[], folds: number): Day[] {
  const firsts = tickers.flatMap((ticker) => ticker.folds.map(({ first }) => first)).sort((a, b) => a - b);
  const rounds = Math.ceil(folds / FOLDS_PER_ROUND);
  const days = Array.from(
    { length: rounds - 1 },
    (_, r) => firsts[Math.floor((firsts.length * FOLDS_PER_ROUND * (r + 1)) / folds)],
  );
  return [...new Set(days.filter((day) => day !== undefined))];
}

/**
 * The candidates that are too far behind at the close of a day, by losses known then. Candidate 0 never is, because gains are measured
 * against it. A candidate with fewer than MIN_DATES dates, alone or in common with the best, is not compared.
 * @param dropped earlier.
 */
export function* candidatesBehind(
  tickers: readonly TestedTicker[],
  candidates: number,
  measure: ChoiceMeasure,
  dropped: DroppedCandidates,
  day: Day,
): Pausable<number[]> {
  const series = yield* lossSeries(tickers, candidates, measure);
  const known = countKnown(series.days, day);
  const differences = new CommonDifferences(series.excess);
  const isOut = (c: number) => dropped.has(c);
  const { best } = chosenMembers(series, known, "best", isOut, differences);
  return [...series.excess.keys()].filter((c) => {
    if (c === 0 || isOut(c) || differences.datesOf(c, known) < MIN_DATES) return false;
    const { mean, error, dates } = differences.of(c, best, known);
    return dates >= MIN_DATES && mean > MAX_T_BEHIND * error;
  });
}
