import type { Pausable } from "../../../contract/machine/pausable.ts";
import type { OutputImportance } from "../../../contract/output/importance.ts";
import type { ForecastRows } from "../../../evaluate/forecast-rows.ts";
import {
  type GroupLoss,
  type PermutationImportance,
  permutationImportance,
} from "../../../evaluate/importance/permutation-importance.ts";
import type { OrderedJson } from "../../shared/ordered-json.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { FeatureGroup } from "./feature-groups.ts";

/** The importance of each group of features, with the names of its features; the largest loss first. */
export interface ImportanceResult extends Omit<PermutationImportance, "groups"> {
  readonly groups: readonly (GroupLoss & { readonly features: FeatureGroup })[];
}

/** @param groups undefined without `importance`; so is the result then. */
export function* evaluateImportance(
  tickers: readonly { readonly fitted: FittedTicker; readonly outOfFold: ForecastRows }[],
  groups: readonly FeatureGroup[] | undefined,
): Pausable<ImportanceResult | undefined> {
  if (groups === undefined) return undefined;
  const tested = tickers.filter(({ outOfFold }) => outOfFold.days.length > 0);
  const { groups: losses, ...whole } = yield* permutationImportance(
    tested.map(({ outOfFold }) => outOfFold),
    groups.map((_, g) => tested.map(({ fitted }) => fitted.permuted![g]!)),
  );
  const named = groups.map((features, g) => ({ ...losses[g]!, features }));
  return { ...whole, groups: named.sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0)) };
}

/** The member `importance` of an output. */
export function importanceOf({ form, dates, figure, quantile, groups }: ImportanceResult): OrderedJson {
  return {
    form,
    dates,
    figure,
    quantile,
    groups: groups.map(({ features, loss, t }) => ({ features: [...features], loss, t })),
  } satisfies Record<keyof OutputImportance, OrderedJson>;
}
