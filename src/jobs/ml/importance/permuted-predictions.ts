import type { Permutation } from "../../../engine/pool/protocol.ts";
import { concatenate } from "../../../evaluate/forecast-rows.ts";
import type { PlannedFit } from "../plan-fits.ts";
import { type FeatureGroup, groupColumns } from "./feature-groups.ts";

/**
 * The shuffled features of a task's fits.
 * @param columns of its matrix. @param ticker decides the order; empty for a pooled fit.
 */
export function permutationOf(
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  ticker = "",
): Permutation {
  return { groups: groupColumns(groups, columns), seed: [...Buffer.from(ticker)] };
}

/** The predictions of a task: those of its fits, and for each group those of its fits with `pool`, with the group shuffled. */
export interface SplitPredictions {
  readonly predicted: Float64Array;
  readonly permuted: readonly Float64Array[];
}

/** @param values of all fits, then fit by fit and group by group; @param groups their number. */
export function splitPredictions(
  values: Float64Array,
  fits: readonly PlannedFit[],
  groups: number,
): SplitPredictions {
  let at = fits.reduce((sum, fit) => sum + rowsOf(fit), 0);
  if (groups === 0) return { predicted: values, permuted: [] };
  const predicted = values.slice(0, at);
  const parts = Array.from({ length: groups }, (): Float64Array[] => []);
  for (const fit of fits) {
    if (fit.pool === undefined) continue;
    for (const part of parts) {
      const from = at;
      at += rowsOf(fit);
      part.push(values.subarray(from, at));
    }
  }
  return { predicted, permuted: parts.map((own) => (own.length === 1 ? own[0]! : concatenate(own))) };
}

function rowsOf({ predict: [from, to] }: PlannedFit): number {
  return to - from;
}
