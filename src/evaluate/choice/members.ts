import type { ChoiceRule } from "../../contract/config/choice/choice-config.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { meanError } from "../mean-test.ts";
import { mean } from "../statistics.ts";
import type { LossSeries } from "./candidate-losses.ts";

/** Candidates by number, ascending. */
export type Members = readonly number[];

export interface MemberChoice {
  readonly best: number;
  readonly members: Members;
}

/** A mean difference of losses between two candidates over label dates. */
interface DatedDifference {
  /** NaN without a common date: such a candidate is neither the best nor a member. */
  readonly mean: number;
  /** Its error; 0 if every difference is the same. */
  readonly error: number;
  /** The number of dates that have both. */
  readonly dates: number;
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
): MemberChoice {
  const candidates = [...excess.keys()];
  const eligible = excess.map((own) => finite(own.subarray(0, known)).length >= MIN_DATES);
  if (!eligible.includes(true)) return { best: 0, members: [0] };
  let best = eligible.indexOf(true);
  for (const c of candidates) {
    if (eligible[c] && mean(differences(excess[c]!, excess[best]!, known)) < 0) best = c;
  }
  if (rule === "best") return { best, members: [best] };
  const members = candidates.filter((c) => {
    if (!eligible[c]) return false;
    const { mean: behind, error } = difference(excess[c]!, excess[best]!, known);
    return behind <= error;
  });
  return { best, members };
}

/** The mean of a series less another over the first `known` dates that have both. */
export function difference(a: Float64Array, b: Float64Array, known: number): DatedDifference {
  const values = differences(a, b, known);
  return { mean: mean(values), error: meanError(values) ?? 0, dates: values.length };
}

function differences(a: Float64Array, b: Float64Array, known: number): Float64Array {
  return finite(a.subarray(0, known).map((value, d) => value - b[d]!));
}

function finite(values: Float64Array): Float64Array {
  return values.filter((value) => !Number.isNaN(value));
}
