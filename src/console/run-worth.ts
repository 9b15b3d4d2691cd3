import type { OperationView } from "../client/index.ts";
import { closeName, summaryIc } from "../contract/output/later-close.ts";
import { shortVisibleText } from "../contract/visible-text.ts";
import { bandFigure, figure } from "../view/figures.ts";

/** The model of a job, its verdict and its IC with the 95 % band, from the operation alone. */
export function worthOf(summary: OperationView["summary"]): string[] {
  if (summary === undefined) return [];
  const { model, fit, verdict } = summary;
  const name = shortVisibleText(fit === "pooled" ? `pooled ${model}` : model, 60);
  if (verdict === null) return [name];
  const { title, ic_low: low, ic_high: high, later } = verdict;
  const ic = summaryIc(summary);
  const band = low === null || high === null ? "" : ` (${bandFigure({ low, high }, "ic")})`;
  return [
    name,
    shortVisibleText(title, 60),
    ...(ic === null ? [] : [`IC ${figure(ic, "ic")}${band}`]),
    ...(later === undefined || later.ic === null
      ? []
      : [`${closeName(later.delay)} ${figure(later.ic, "ic")}`]),
  ];
}
