import { CHOICE_RULES, type ChoiceMeasure, type ChoiceRule } from "../../contract/config/choice-config.ts";
import type { Day } from "../../contract/market/dates.ts";
import { CHOICE_METHOD, type OutputChoice } from "../../contract/output/choice.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { type Levels, levelSpans, levelsAt } from "../levels.ts";
import { meanError } from "../mean-test.ts";
import { mean } from "../statistics.ts";
import {
  countKnown,
  type LossSeries,
  lossSeries,
  type TestedTicker,
  withoutNaN,
} from "./candidate-losses.ts";

export type Members = readonly number[];

/** The choice among candidates, on rows that their folds tested. Its members, by all losses, forecast the score rows. */
export interface PrequentialChoice {
  readonly best: number;
  readonly members: Members;
  readonly series: LossSeries;
  /** The members from a date on, in time order: at the first date of a fold, and where they change. */
  readonly changes: readonly { readonly day: Day; readonly members: Members }[];
  /** One per ticker, shape (n): out-of-fold forecasts. */
  readonly predicted: readonly Float64Array[];
}

export interface ChoiceSettings {
  readonly rule: ChoiceRule;
  readonly measure: ChoiceMeasure;
}

/**
 * Chooses among candidates as a desk would have chosen: the forecasts of a fold are the mean of the candidates that the losses known at its
 * first date support, so no forecast depends on a later label. Score rows are forecast by the candidates that all losses support.
 * @param tickers ascending by code point. @param judged the rows of these tickers whose losses count; all of them by default.
 */
export function choosePrequentially(
  tickers: readonly TestedTicker[],
  candidates: number,
  { rule, measure }: ChoiceSettings,
  judged = tickers,
): PrequentialChoice {
  const series = lossSeries(judged, candidates, measure);
  const byCount = new Map<number, Members>();
  const membersOn = (day: Day): Members => {
    const known = countKnown(series.days, day);
    const members = byCount.get(known) ?? chosenMembers(series, known, rule).members;
    byCount.set(known, members);
    return members;
  };
  const days = new Set(tickers.flatMap(({ folds }) => folds.map(({ first }) => first)));
  const changes: { readonly day: Day; readonly members: Members }[] = [];
  for (const day of [...days].sort((a, b) => a - b)) {
    const members = membersOn(day);
    if (members.join() !== changes.at(-1)?.members.join()) changes.push({ day, members });
  }
  const predicted = tickers.map((ticker) => {
    const forecasts = new Float64Array(ticker.days.length);
    for (const { from, to, first } of ticker.folds)
      memberMeans(ticker.predicted, membersOn(first), forecasts, [from, to]);
    return forecasts;
  });
  return { series, changes, ...chosenMembers(series, series.days.length, rule), predicted };
}

/**
 * The candidates to use by the losses of the first `known` dates: with rule `best`, the one with the smallest mean loss; with `mean`, all
 * whose mean loss exceeds it by at most one error of their difference. Among equal losses the earliest candidate is the best.
 * With fewer than MIN_DATES dates, candidate 0. A candidate with fewer dates than that cannot be a member.
 */
export function chosenMembers(
  { excess }: Pick<LossSeries, "excess">,
  known: number,
  rule: ChoiceRule,
): Pick<PrequentialChoice, "best" | "members"> {
  const eligible = [...excess.keys()].filter(
    (c) => withoutNaN(excess[c]!.subarray(0, known)).length >= MIN_DATES,
  );
  if (eligible.length === 0) return { best: 0, members: [0] };
  const best = eligible.reduce((least, c) =>
    mean(differences(excess[c]!, excess[least]!, known)) < 0 ? c : least,
  );
  if (rule === "best") return { best, members: [best] };
  const isClose = (c: number) => {
    const { mean: behind, error } = difference(excess[c]!, excess[best]!, known);
    return behind <= error;
  };
  return { best, members: eligible.filter(isClose) };
}

/**
 * The mean of a series less another over the first `known` dates that have both, and its error: 0 if every difference is the same. The mean
 * is NaN without a common date: such a candidate is neither the best nor a member.
 */
export function difference(a: Float64Array, b: Float64Array, known: number) {
  const values = differences(a, b, known);
  return { mean: mean(values), error: meanError(values) ?? 0, dates: values.length };
}

function differences(a: Float64Array, b: Float64Array, known: number): Float64Array {
  return withoutNaN(a.subarray(0, known).map((value, d) => value - b[d]!));
}

/**
 * The mean of the members' forecasts of each row, summed in the order of the list. Members without a forecast of a row do not count; if none
 * has one, it is that of the first candidate that does.
 * @param predicted one per candidate, shape (n): NaN where a candidate has no forecast.
 * @param into shape (n); rows [from, to) are set.
 */
export function memberMeans(
  predicted: readonly Float64Array[],
  members: Members,
  into: Float64Array,
  [from, to]: readonly [number, number] = [0, into.length],
): void {
  const isKnown = (value: number) => !Number.isNaN(value);
  for (let row = from; row < to; row++) {
    const known = members.map((c) => predicted[c]![row]!).filter(isKnown);
    into[row] =
      known.length > 0
        ? known.reduce((sum, value) => sum + value, 0) / known.length
        : (predicted.map((own) => own[row]!).find(isKnown) ?? Number.NaN);
  }
}

/**
 * What the means of members start from: the mean of their levels.
 * @param predicted as in `memberMeans`; `spans` one per candidate. @param parts of the rows, with the members that forecast each.
 */
export function memberLevels(
  days: Int32Array,
  predicted: readonly Float64Array[],
  spans: readonly Levels[],
  parts: readonly { readonly from: number; readonly to: number; readonly members: Members }[],
): Levels {
  if (spans.every(({ length }) => length === 0)) return [];
  const levels = predicted.map((own, c) =>
    levelsAt(spans[c]!, days).map((level, row) => (Number.isNaN(own[row]!) ? Number.NaN : level)),
  );
  const means = new Float64Array(days.length);
  for (const { members, from, to } of parts) memberMeans(levels, members, means, [from, to]);
  return levelSpans(days, means);
}

/** The members for all tickers at the first date of a fold. */
export function membersAt({ changes }: Pick<PrequentialChoice, "changes">, first: Day): Members {
  return changes.findLast(({ day }) => day <= first)!.members;
}

/** The parts of a recorded choice that determine its members. */
export type RecordedChoice = Pick<
  OutputChoice,
  "rule" | "members" | "best" | "changes" | "losses" | "method"
>;

/**
 * Chooses the common members again from the recorded losses: at the end, and on each recorded date of a change.
 * @param foldDates first dates of folds, `YYYY-MM-DD`: the members of the last change up to each must be those that its losses support.
 * @returns members that the losses do not support, each with its place in the output, such as `choice.members`; none for a rule of a later
 * version, and for outputs of 0.2.0, whose errors had another estimate.
 */
export function choiceFaults(
  { rule, members, best, changes, losses, method }: RecordedChoice,
  foldDates: readonly string[] = [],
) {
  const known = CHOICE_RULES.find((name) => name === rule);
  if (known === undefined || method !== CHOICE_METHOD) return [];
  const excess = losses.excess.map((own) => Float64Array.from(own, (value) => value ?? Number.NaN));
  const choiceAt = (count: number) => chosenMembers({ excess }, count, known);
  const membersOn = (date: string) => choiceAt(losses.dates.filter((each) => each <= date).length).members;
  const end = choiceAt(losses.dates.length);
  const changed = new Set(changes.map(({ date }) => date));
  const others = [...new Set(foldDates)].filter((date) => !changed.has(date)).sort();
  const recordedOn = (date: string) => changes.findLast((change) => change.date <= date)?.members ?? [];
  const compared: (readonly [at: string, recorded: Members, recomputed: Members])[] = [
    ["choice.members", members, end.members],
    ["choice.best", [best], [end.best]],
    ...changes.map(
      ({ date, members }, i) => [`choice.changes[${i}] (${date})`, members, membersOn(date)] as const,
    ),
    ...others.map((date) => [`choice.changes (${date})`, recordedOn(date), membersOn(date)] as const),
  ];
  return compared
    .map(([at, own, found]) => ({ at, recorded: own.join(", "), recomputed: found.join(", ") }))
    .filter(({ recorded, recomputed }) => recorded !== recomputed);
}
