import type { ChoiceMeasure, ChoiceRule } from "../../contract/config/choice/choice-config.ts";
import type { Day } from "../../contract/market/dates.ts";
import { countKnown, type LossSeries, lossSeries, type TestedTicker } from "./candidate-losses.ts";
import { foldForecasts } from "./member-forecasts.ts";
import { chosenMembers, type MemberChoice, type Members } from "./members.ts";

/** The choice among candidates, on rows that their folds tested. */
export interface PrequentialChoice {
  readonly series: LossSeries;
  /** The members from a date on, in time order: at the first date of a fold, and where they change. */
  readonly changes: readonly { readonly day: Day; readonly members: Members }[];
  /** The members by all losses, which forecast the score rows. */
  readonly members: Members;
  readonly best: number;
  /** One per ticker, shape (n): out-of-fold forecasts. */
  readonly predicted: readonly Float64Array[];
}

export interface ChoiceSettings {
  readonly rule: ChoiceRule;
  readonly measure: ChoiceMeasure;
}

/** Later than every label. */
export const END: Day = Number.MAX_SAFE_INTEGER;

/**
 * Chooses among candidates as a desk would have chosen: the forecasts of a fold are the mean of the candidates that the losses known at its
 * first date support, so no forecast depends on a later label. Score rows are forecast by the candidates that all losses support.
 * @param tickers ascending by code point.
 */
export function choosePrequentially(
  tickers: readonly TestedTicker[],
  candidates: number,
  { rule, measure }: ChoiceSettings,
): PrequentialChoice {
  const series = lossSeries(tickers, candidates, measure);
  const days = foldDates(tickers);
  const common = choicesAt([...days, END], series, rule);
  const { members, best } = common.get(END)!;
  const predicted = tickers.map((ticker) => foldForecasts(ticker, (first) => common.get(first)!.members));
  return { series, changes: membersOverTime(days, common), members, best, predicted };
}

export function foldDates(tickers: readonly TestedTicker[]): Day[] {
  return [...new Set(tickers.flatMap(({ folds }) => folds.map(({ first }) => first)))].sort((a, b) => a - b);
}

/** The choice of all tickers at the close of each day; days between two label dates share one. */
export function choicesAt(
  days: readonly Day[],
  series: LossSeries,
  rule: ChoiceRule,
): ReadonlyMap<Day, MemberChoice> {
  const byCount = new Map<number, MemberChoice>();
  const choices = new Map<Day, MemberChoice>();
  for (const day of days) {
    const known = countKnown(series.days, day);
    const choice = byCount.get(known) ?? chosenMembers(series, known, rule);
    byCount.set(known, choice);
    choices.set(day, choice);
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
