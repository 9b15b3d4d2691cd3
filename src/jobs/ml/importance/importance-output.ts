import { permutationImportance } from "../../../evaluate/importance/permutation-importance.ts";
import type { OrderForm } from "../../../evaluate/verdict/order.ts";
import type { OrderedJson } from "../../shared/ordered-json.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { FeatureGroup } from "./feature-groups.ts";

/**
 * The member `permutation_importance` of an output: the largest loss first.
 * @param fitted tickers whose folds have shuffled the features of these groups.
 * @param shuffled the form of order for which a pooled fit shuffled them.
 */
export function importanceOf(
  fitted: readonly FittedTicker[],
  groups: readonly FeatureGroup[],
  shuffled?: OrderForm,
): OrderedJson {
  const tested = fitted.filter(({ heldOut }) => heldOut.days.length > 0);
  const found = permutationImportance(
    tested.map(({ heldOut }) => heldOut),
    groups.map((_, g) => tested.map(({ permuted }) => permuted![g]!)),
    shuffled,
  );
  const { groups: losses, form, dates, figure, quantile, method } = found;
  const named = groups.map(({ features, correlation }, g) => {
    const { loss, t } = losses[g]!;
    return { features, ...(correlation === undefined ? {} : { correlation }), loss, t };
  });
  named.sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0));
  return { form, dates, figure, quantile, method, groups: named };
}
