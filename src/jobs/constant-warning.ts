import type { Warning } from "../contract/warnings.ts";
import type { ConstantDescription } from "../engine/protocol.ts";

/** What a model predicts, and what may be the reason. */
type Constant = Pick<ConstantDescription, "value"> &
  Partial<ConstantDescription> & {
    /** Networks with the loss directional. */
    readonly prediction_scale?: number | undefined;
  };

/**
 * The warning of a model that predicts one constant, with the parameter to look at. It blames none: the features of
 * the score rows may be all the same.
 */
export function constantWarning(ticker: string, constant: Constant): Warning {
  return {
    code: "constant_predictions",
    ticker,
    message: `${ticker}: every score row is predicted as ${constant.value}.${remedy(constant)}`,
  };
}

function remedy({ largest_alpha, min_child_samples, train_rows, prediction_scale }: Constant): string {
  if (typeof largest_alpha === "number") {
    return ` An alpha below ${largest_alpha} keeps a coefficient, and none is kept from there on.`;
  }
  if (min_child_samples !== undefined) {
    return ` min_child_samples is ${min_child_samples} and there are ${train_rows} training rows; where no tree splits, lower it.`;
  }
  if (prediction_scale === 0) {
    return " The loss directional leaves the size of forecasts open; on the validation part none above 0 was any good.";
  }
  return "";
}
