import type { Warning } from "../contract/warnings.ts";
import type { ConstantDescription } from "../engine/protocol.ts";

/** The warning of a model that predicts one constant, with the parameter to lower. */
export function constantWarning(ticker: string, constant: ConstantDescription): Warning {
  return {
    code: "constant_predictions",
    ticker,
    message: `${ticker}: every score row is predicted as ${constant.value}.${remedy(constant)}`,
  };
}

function remedy({ largest_alpha, min_child_samples, train_rows }: ConstantDescription): string {
  if (typeof largest_alpha === "number") {
    return ` Every coefficient is 0; an alpha below ${largest_alpha} keeps one.`;
  }
  if (largest_alpha === null) return " Every coefficient is 0, and no alpha keeps one.";
  if (min_child_samples !== undefined) {
    return ` min_child_samples is ${min_child_samples} and there are ${train_rows} training rows; lower it to let trees split.`;
  }
  return "";
}
