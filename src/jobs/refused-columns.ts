import type { MlSettings } from "../contract/ml-settings.ts";
import { unmetDemands } from "../contract/model-params/column-demands.ts";
import type { Failure } from "../contract/output-blob.ts";
import type { PanelRows } from "../panel/ticker-panel.ts";

/**
 * A ticker whose columns are not those that the model's arguments speak of: features that are empty for it are left
 * out, so that one ticker may lack a column that another has. Its matrix never reaches a library.
 */
export function refusedColumns(
  { ticker, columns }: Pick<PanelRows, "ticker" | "columns">,
  { columnDemands }: Pick<MlSettings, "columnDemands">,
): Failure | undefined {
  const unmet = unmetDemands(columnDemands, columns);
  return unmet.length === 0 ? undefined : { ticker, code: "invalid_model_params", message: unmet.join("; ") };
}
