import type { OutputImportance } from "../../../contract/output/metrics-schemas.ts";
import { permutationImportance } from "../../../evaluate/importance/permutation-importance.ts";
import type { OrderForm } from "../../../evaluate/verdict/order.ts";
import type { OrderedJson } from "../../shared/ordered-json.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { FeatureGroup } from "./feature-groups.ts";

/** The fits of a job, which have shuffled the features of these groups; none without `importance`. */
interface ShuffledFits {
  readonly fitted: readonly FittedTicker[];
  readonly groups?: readonly FeatureGroup[];
  /** The form of order for which a pooled fit shuffled them. */
  readonly shuffled?: OrderForm;
}

/** The member `permutation_importance` of an output: the largest loss first. @returns undefined without `importance`. */
export function importanceOf({ fitted, groups, shuffled }: ShuffledFits): OrderedJson | undefined {
  if (groups === undefined) return undefined;
  const tested = fitted.filter(({ heldOut }) => heldOut.days.length > 0);
  const found = permutationImportance(
    tested.map(({ heldOut }) => heldOut),
    groups.map((_, g) => tested.map(({ permuted }) => permuted![g]!)),
    shuffled,
  );
  const { form, dates, figure, quantile, method, groups: losses } = found;
  const named = groups.map((group, g) => ({ ...group, ...losses[g]! }));
  return {
    form,
    dates,
    figure,
    quantile,
    method,
    groups: named
      .sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0))
      .map(({ features, correlation, loss, t }) => ({
        features: [...features],
        ...(correlation === undefined ? {} : { correlation }),
        loss,
        t,
      })),
  } satisfies Record<keyof OutputImportance, OrderedJson>;
}
