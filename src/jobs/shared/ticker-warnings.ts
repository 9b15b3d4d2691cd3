import type { Warning } from "../../contract/problems/warnings.ts";
import type { ConstantDescription } from "../../engine/pool/protocol.ts";
import { muRow, type PanelDates } from "../../panel/as-of.ts";
import { type Listed, listedWarnings, olderForecast, warmUpWarning } from "./listed-warnings.ts";
import type { Inputs } from "./read-inputs.ts";
import type { RowFacts } from "./row-facts.ts";

/** A ticker with forecasts. */
interface ForecastTicker {
  readonly ticker: string;
  readonly dates: PanelDates;
  readonly rows: Pick<RowFacts, "warmUp">;
  /** Warnings of its rows, its plan and its model. */
  readonly warnings: readonly Warning[];
  /** The warnings of the job that list it. */
  readonly listed: readonly Listed[];
}

/**
 * The warnings of a job once every ticker has ended. Their order does not depend on which ticker ended first: tickers in only one blob,
 * then each ticker's own, in the given order, then those of all tickers together and those that list tickers.
 * @param done ascending by code point.
 * @param evaluated warnings of the intervals and of the forecasts.
 * @param listed further tickers to list.
 */
export function tickerWarnings(
  inputs: Pick<Inputs, "asOf" | "unpaired">,
  done: readonly ForecastTicker[],
  evaluated: readonly Warning[],
  listed: readonly Listed[] = [],
): readonly Warning[] {
  const byTicker = Map.groupBy(evaluated, (warning) => warning.ticker);
  return [
    ...inputs.unpaired(),
    ...done.flatMap(({ ticker, warnings, dates }) => {
      const stale = muRow(dates, inputs.asOf).warning;
      return [...warnings, ...(byTicker.get(ticker) ?? []), ...(stale === undefined ? [] : [stale])];
    }),
    ...(byTicker.get(undefined) ?? []),
    ...warmUpWarning(done),
    ...listedWarnings([
      ...done.flatMap(({ dates }) => olderForecast(dates, inputs.asOf)),
      ...done.flatMap((ticker) => ticker.listed),
      ...listed,
    ]),
  ];
}

/** The one value that a model predicts, and the parameters that may explain it. */
type Constant = Pick<ConstantDescription, "value"> &
  Partial<ConstantDescription> & {
    /** Networks with the loss directional. */
    readonly prediction_scale?: number | undefined;
  };

/**
 * The warning of a model that predicts one constant, with the parameter to look at. It does not call that parameter the
 * cause: the features of the score rows may all be the same.
 */
export function constantWarning(ticker: string, constant: Constant): Warning {
  return {
    code: "constant_predictions",
    ticker,
    // With `own` shrinkage, the forecasts of the output are s times that.
    message: `${ticker}: the model predicts ${constant.value} for every score row.${remedy(constant)}`,
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
    return " The loss directional leaves the size of forecasts open; on the validation part none was better than 0 by more than its error.";
  }
  return "";
}
