import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import { foldRows } from "../outputs/fold-rows.ts";
import type { OutputDocument } from "../outputs/open-document.ts";

/** `out_of_fold`: rows before the cut, forecast by models that had not learned from them. `score`: rows after it. */
export type Part = "out_of_fold" | "score";

/** Contiguous forecasts of one ticker: those of one fold, or its score rows. Shape (n) each, dates ascending. */
export interface ForecastPart {
  readonly ticker: string;
  readonly part: Part;
  /** From 1; undefined for score rows. */
  readonly fold: number | undefined;
  readonly days: Int32Array;
  readonly predicted: Float64Array;
  /** NaN without an end; undefined out of fold, where there are no intervals. */
  readonly lower: Float64Array | undefined;
  readonly upper: Float64Array | undefined;
  /** NaN if the return is not known yet. */
  readonly realised: Float64Array;
}

/**
 * All forecasts of an output: tickers ascending by code point, for each ticker first the folds in time order, then the score rows.
 * @throws MucastError invalid_data if the folds of a ticker do not add up to its rows.
 */
export function* forecastParts(output: OutputDocument): Generator<ForecastPart> {
  const { rows, outOfFold = [] } = output;
  const folds = new Map(foldRows(output).map((found, k) => [outOfFold[k]!.ticker, found]));
  const tested = new Map(outOfFold.map((ticker) => [ticker.ticker, ticker]));
  const scored = new Map(rows.map((row) => [row.ticker, row]));
  for (const ticker of [...new Set([...tested.keys(), ...scored.keys()])].sort(compareCodePoints)) {
    for (const { number, from, to } of folds.get(ticker) ?? []) {
      yield foldPart(tested.get(ticker)!, number, from, to);
    }
    const score = scored.get(ticker);
    if (score !== undefined) yield { ...score, part: "score", fold: undefined };
  }
}

function foldPart(rows: ForecastRows, fold: number, from: number, to: number): ForecastPart {
  return {
    ticker: rows.ticker,
    part: "out_of_fold",
    fold,
    days: rows.days.subarray(from, to),
    predicted: rows.predicted.subarray(from, to),
    lower: undefined,
    upper: undefined,
    realised: rows.realised.subarray(from, to),
  };
}
