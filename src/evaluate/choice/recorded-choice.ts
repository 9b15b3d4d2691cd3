import { CHOICE_RULES } from "../../contract/config/choice/choice-config.ts";
import { CHOICE_METHOD, type OutputChoice } from "../../contract/output/choice.ts";
import { chosenMembers } from "./members.ts";

/** The parts of a recorded choice that determine its members. */
export type RecordedChoice = Pick<
  OutputChoice,
  "rule" | "members" | "best" | "changes" | "losses" | "method"
>;

/** Members that the recorded losses do not support. */
export interface ChoiceFault {
  /** Where they are in the output, such as `choice.members`. */
  readonly at: string;
  readonly recorded: string;
  readonly recomputed: string;
}

/**
 * Chooses the common members again from the recorded losses: at the end, and on each recorded date of a change.
 * @param foldDates first dates of folds, `YYYY-MM-DD`: the members of the last change up to each must be those that its losses support.
 * @returns the differences; none for a rule of a later version, and for outputs of 0.2.0, whose errors had another estimate.
 */
export function choiceFaults(
  { rule, members, best, changes, losses, method }: RecordedChoice,
  foldDates: readonly string[] = [],
): ChoiceFault[] {
  const known = CHOICE_RULES.find((name) => name === rule);
  if (known === undefined || method !== CHOICE_METHOD) return [];
  const excess = losses.excess.map((own) => Float64Array.from(own, (value) => value ?? Number.NaN));
  const choiceAt = (count: number) => chosenMembers({ excess }, count, known);
  const membersOn = (date: string) => choiceAt(countUpTo(losses.dates, date)).members;
  const end = choiceAt(losses.dates.length);
  const recordedOn = (date: string) => changes.findLast((change) => change.date <= date)?.members ?? [];
  const dates = new Set(foldDates);
  for (const { date } of changes) dates.delete(date);
  return [
    ...faultOf("choice.members", members, end.members),
    ...faultOf("choice.best", [best], [end.best]),
    ...changes.flatMap((change, i) =>
      faultOf(`choice.changes[${i}] (${change.date})`, change.members, membersOn(change.date)),
    ),
    ...[...dates]
      .sort()
      .flatMap((date) => faultOf(`choice.changes (${date})`, recordedOn(date), membersOn(date))),
  ];
}

function faultOf(at: string, recorded: readonly number[], recomputed: readonly number[]): ChoiceFault[] {
  if (recorded.join() === recomputed.join()) return [];
  return [{ at, recorded: recorded.join(", "), recomputed: recomputed.join(", ") }];
}

/** @param dates ascending. */
function countUpTo(dates: readonly string[], date: string): number {
  const next = dates.findIndex((each) => each > date);
  return next < 0 ? dates.length : next;
}
