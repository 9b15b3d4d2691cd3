import type { Warning } from "../contract/warnings.ts";
import type { ConstantDescription } from "../engine/protocol.ts";

/**
 * The warning of a model that predicts one constant, with the parameter to look at. It blames none: the features of
 * the score rows may be all the same.
 */
export function constantWarning(ticker: string, constant: ConstantDescription): Warning {
  return {
    code: "constant_predictions",
    ticker,
    message: `${ticker}: every score row is predicted as ${constant.value}.${remedy(constant)}`,
  };
}

function remedy({ largest_alpha, min_child_samples, train_rows }: ConstantDescription): string {
  if (typeof largest_alpha === "number") {
    return ` An alpha below ${largest_alpha} keeps a coefficient, and none is kept from there on.`;
  }
  if (min_child_samples !== undefined) {
    return ` min_child_samples is ${min_child_samples} and there are ${train_rows} training rows; where no tree splits, lower it.`;
  }
  return "";
}
