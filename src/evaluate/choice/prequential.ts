import type { ChoiceMeasure, ChoiceRule, ChoiceScope } from "../../contract/config/choice/choice-config.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { MIN_DATES } from "../newey-west.ts";
import { countKnown, type LossSeries, lossSeries, type TestedTicker } from "./candidate-losses.ts";
import { CommonDifferences } from "./known-differences.ts";
import { foldForecasts, memberMeans } from "./member-forecasts.ts";
import { chosenMembers, difference, type MemberChoice, type Members } from "./members.ts";
import { allDifferences, tickerMembers } from "./ticker-members.ts";

/** The choice among candidates, on rows that their folds tested. */
export interface PrequentialChoice {
  readonly series: LossSeries;
  /** The members for all tickers from a date on, in time order: at the first date of a fold, and where they change. */
  readonly changes: readonly { readonly day: Day; readonly members: Members }[];
  /** The members for all tickers by all losses. */
  readonly members: Members;
  /** The candidate with the smallest mean loss. */
  readonly best: number;
  /** One per ticker: the members that forecast its score rows. */
  readonly tickerMembers: readonly Members[];
  /** Whether these were chosen per ticker. */
  readonly isPerTicker: boolean;
  /** One per ticker, shape (n): out-of-fold forecasts. */
  readonly predicted: readonly Float64Array[];
}

/** Members per ticker replace the common ones once their gain exceeds this many of its Newey-West errors. */
const MIN_T = 1;

/** How to choose. `auto` needs squared errors, because one ticker has no IC. */
export interface ChoiceSettings {
  readonly rule: ChoiceRule;
  readonly over: ChoiceScope;
  readonly measure: ChoiceMeasure;
}

/** Later than every label. */
export const END: Day = Number.MAX_SAFE_INTEGER;

/**
 * Chooses among candidates as a desk would have chosen: the forecasts of a fold are the mean of the candidates that the losses known at its
 * first date support, so no forecast depends on a later label. Score rows are forecast by the candidates that all losses support.
 * @param tickers ascending by code point.
 */
export function* choosePrequentially(
  tickers: readonly TestedTicker[],
  candidates: number,
  { rule, over, measure }: ChoiceSettings,
): Pausable<PrequentialChoice> {
  const series = yield* lossSeries(tickers, candidates, measure);
  const days = foldDates(tickers);
  const common = yield* choicesAt([...days, END], series, rule);
  const { members, best } = common.get(END)!;
  const pooled = tickers.map((ticker) => foldForecasts(ticker, (first) => common.get(first)!.members));
  yield 0;
  const choice: PrequentialChoice = {
    series,
    changes: membersOverTime(days, common),
    members,
    best,
    tickerMembers: tickers.map(() => members),
    isPerTicker: false,
    predicted: pooled,
  };
  return over === "all" ? choice : yield* withOwnMembers(choice, tickers, days, common, rule);
}

/** Replaces the common members by those of each ticker from the date on at which these have been better. */
function* withOwnMembers(
  choice: PrequentialChoice,
  tickers: readonly TestedTicker[],
  days: readonly Day[],
  common: ReadonlyMap<Day, MemberChoice>,
  rule: ChoiceRule,
): Pausable<PrequentialChoice> {
  const own = yield* ownForecasts(choice.series, tickers, days, common, rule);
  const both = tickers.map((ticker, i) => ({ ...ticker, predicted: [choice.predicted[i]!, own[i]!] }));
  const { days: labelDays, excess } = yield* lossSeries(both, 2, "squared_error");
  const isBetter = (day: Day): boolean => {
    const known = countKnown(labelDays, day);
    if (known < MIN_DATES) return false;
    const { mean, error } = difference(excess[0]!, excess[1]!, known);
    return mean > MIN_T * error;
  };
  const switched = new Set([...days, END].filter(isBetter));
  const predicted = tickers.map(({ days: rows, folds }, i) => {
    const forecasts = new Float64Array(rows.length);
    for (const { from, to, first } of folds) {
      const source = switched.has(first) ? own[i]! : choice.predicted[i]!;
      forecasts.set(source.subarray(from, to), from);
    }
    return forecasts;
  });
  if (!switched.has(END)) return { ...choice, predicted };
  const members = yield* tickerMembers(tickers, choice.series, END, common.get(END)!, rule);
  return { ...choice, predicted, tickerMembers: members, isPerTicker: true };
}

/** One per ticker, shape (n): out-of-fold forecasts of its own members. Those of one date at a time are in memory. */
function* ownForecasts(
  series: LossSeries,
  tickers: readonly TestedTicker[],
  days: readonly Day[],
  common: ReadonlyMap<Day, MemberChoice>,
  rule: ChoiceRule,
): Pausable<readonly Float64Array[]> {
  const forecasts = tickers.map((ticker) => new Float64Array(ticker.days.length));
  const differences = allDifferences(tickers, series);
  for (const day of days) {
    const members = yield* tickerMembers(tickers, series, day, common.get(day)!, rule, differences);
    for (const [i, { folds, predicted }] of tickers.entries()) {
      for (const { from, to, first } of folds) {
        if (first === day) memberMeans(predicted, members[i]!, forecasts[i]!, [from, to]);
      }
    }
    yield 0;
  }
  return forecasts;
}

/** The first dates of all folds, ascending. */
export function foldDates(tickers: readonly TestedTicker[]): Day[] {
  return [...new Set(tickers.flatMap(({ folds }) => folds.map(({ first }) => first)))].sort((a, b) => a - b);
}

/** The choice of all tickers at the close of each day; days between two label dates share one. */
export function* choicesAt(
  days: readonly Day[],
  series: LossSeries,
  rule: ChoiceRule,
): Pausable<ReadonlyMap<Day, MemberChoice>> {
  const differences = new CommonDifferences(series.excess);
  const byCount = new Map<number, MemberChoice>();
  const choices = new Map<Day, MemberChoice>();
  for (const day of days) {
    const known = countKnown(series.days, day);
    const choice = byCount.get(known) ?? chosenMembers(series, known, rule, differences);
    byCount.set(known, choice);
    choices.set(day, choice);
    yield 0;
  }
  return choices;
}

/** The members of all tickers at the first of these days, and wherever they change. */
export function membersOverTime(
  days: readonly Day[],
  common: ReadonlyMap<Day, MemberChoice>,
): PrequentialChoice["changes"] {
  const changes: { readonly day: Day; readonly members: Members }[] = [];
  for (const day of days) {
    const { members } = common.get(day)!;
    if (members.join() !== changes.at(-1)?.members.join()) changes.push({ day, members });
  }
  return changes;
}
