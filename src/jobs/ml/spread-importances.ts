import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { Importance } from "../shared/ticker-fits.ts";
import type { BlockPredictions } from "./run-refits.ts";

/** An importance from the last of several fits. */
export interface SpreadImportance extends Importance {
  /** Standard deviation (ddof 1) over the fits; absent if one of them does not list the feature. */
  readonly spread?: number;
}

/**
 * The importances of the last fit with their deviations over all fits.
 * @param fits in time order, at least one; undefined if its library has none.
 */
export function spreadImportances(
  fits: readonly (readonly Importance[] | undefined)[],
): SpreadImportance[] | undefined {
  const byFit = fits.map((fit) => new Map(fit?.map(({ feature, importance }) => [feature, importance])));
  return fits.at(-1)?.map(({ feature, importance }) => {
    const values = byFit.map((fit) => fit.get(feature) ?? Number.NaN);
    if (values.length < 2 || values.some(Number.isNaN)) return { feature, importance };
    return { feature, importance, spread: sampleDeviation(Float64Array.from(values)) };
  });
}

/** The importances of the first and of the last fit. @param blocks in time order; `names` of the columns. */
export function importancesOf(
  blocks: readonly Pick<BlockPredictions, "diagnosis" | "error">[],
  names: readonly string[],
): {
  readonly importances: readonly Importance[] | undefined;
  readonly lastImportances: readonly SpreadImportance[] | undefined;
} {
  const own = blocks
    .filter(({ error }) => error === undefined)
    .map(({ diagnosis }) =>
      diagnosis?.importances?.map(([column, importance]) => ({ feature: names[column]!, importance })),
    );
  return { importances: own[0], lastImportances: spreadImportances(own) };
}
