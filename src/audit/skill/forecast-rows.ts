import { parseDay } from "../../contract/market/dates.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { outputParts, type ReadObject, type ReadValue } from "../job/output-parts.ts";

/** The forecasts of an output with their labels, one entry per ticker. */
export interface OutputForecasts {
  readonly score: readonly DatedForecasts[];
  /** Empty for run_dl_job. */
  readonly outOfFold: readonly DatedForecasts[];
}

/** Reads the forecasts of an output on this machine. */
export async function readForecasts(path: string, signal: AbortSignal): Promise<OutputForecasts> {
  const score: DatedForecasts[] = [];
  const outOfFold: DatedForecasts[] = [];
  for await (const { part, ticker, value } of outputParts(path, signal)) {
    if (part === "forecasts") score.push(forecastsOf(ticker, value as ReadObject));
    else if (part === "cross_validation") outOfFold.push(forecastsOf(ticker, value as ReadObject));
  }
  return { score, outOfFold };
}

function forecastsOf(ticker: string, { dates, predicted, realised }: ReadObject): DatedForecasts {
  return {
    ticker,
    days: Int32Array.from(dates as readonly string[], (date) => parseDay(date)!),
    predicted: numbers(predicted!),
    realised: numbers(realised!),
  };
}

/** An array with only nulls contains only NaN. */
function numbers(value: ReadValue): Float64Array {
  return value instanceof Float64Array
    ? value
    : Float64Array.from(value as readonly (number | null)[], (one) => one ?? Number.NaN);
}
