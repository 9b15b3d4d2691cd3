import type { OutputImportance } from "../../../contract/output/importance.ts";
import {
  type GroupLoss,
  type PermutationImportance,
  permutationImportance,
} from "../../../evaluate/importance/permutation-importance.ts";
import type { OrderForm } from "../../../evaluate/verdict/order.ts";
import type { OrderedJson } from "../../shared/ordered-json.ts";
import { type FittedTicker, outOfFoldRows } from "../fitted-ticker.ts";
import type { FeatureGroup } from "./feature-groups.ts";

/** The importance of each group of features, the largest loss first. */
export interface ImportanceResult extends Omit<PermutationImportance, "groups"> {
  readonly groups: readonly (GroupLoss & FeatureGroup)[];
}

/** The fits of a job, which have shuffled the features of these groups; none without `importance`. */
interface ShuffledFits {
  readonly fitted: readonly FittedTicker[];
  readonly groups?: readonly FeatureGroup[];
  /** The form of order for which a pooled fit shuffled them. */
  readonly shuffled?: OrderForm;
}

/** @returns undefined without `importance`. */
export function evaluateImportance({ fitted, groups, shuffled }: ShuffledFits): ImportanceResult | undefined {
  if (groups === undefined) return undefined;
  const tested = fitted.filter(({ outOfFold }) => outOfFold.length > 0);
  const { groups: losses, ...whole } = permutationImportance(
    tested.map(outOfFoldRows),
    groups.map((_, g) => tested.map(({ permuted }) => permuted![g]!)),
    shuffled,
  );
  const named = groups.map((group, g) => ({ ...group, ...losses[g]! }));
  return { ...whole, groups: named.sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0)) };
}

/** The tickers without the forecasts of shuffled features, which nothing else needs. */
export function withoutPermuted(fitted: readonly FittedTicker[]): FittedTicker[] {
  return fitted.map(({ permuted: _, ...ticker }) => ticker);
}

/** The member `permutation_importance` of an output. */
export function importanceOf({
  form,
  dates,
  figure,
  quantile,
  method,
  groups,
}: ImportanceResult): OrderedJson {
  return {
    form,
    dates,
    figure,
    quantile,
    method,
    groups: groups.map(({ features, correlation, loss, t }) => ({
      features: [...features],
      ...(correlation === undefined ? {} : { correlation }),
      loss,
      t,
    })),
  } satisfies Record<keyof OutputImportance, OrderedJson>;
}
