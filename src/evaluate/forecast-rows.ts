import { compareCodePoints } from "../contract/market/ticker-order.ts";

/** Forecasts of one ticker beside the realised returns. */
export interface DatedForecasts {
  readonly ticker: string;
  /** Shape (n), ascending: the market date of each forecast. */
  readonly days: Int32Array;
  /** Shape (n): next-day log-return, finite. */
  readonly predicted: Float64Array;
  /** Shape (n): the label, NaN where it is not known yet. */
  readonly realised: Float64Array;
}

/** The forecasts that a table of metrics is about: either score rows or out-of-fold rows. */
export interface ForecastRows extends DatedForecasts {
  /**
   * Shape (n): mean of the labels the model had learned from at that row: of the fold's own training rows out of
   * fold, of all fit rows on score rows.
   */
  readonly trainingMean: Float64Array;
}

/** Tickers in the order in which every sum runs. It does not depend on which ticker was done first. */
export function inTickerOrder<T extends { readonly ticker: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => compareCodePoints(a.ticker, b.ticker));
}

/** The rows whose label is known: the same object where that is so of all. */
export function labelled(rows: ForecastRows): ForecastRows {
  if (!rows.realised.some(Number.isNaN)) return rows;
  const known = (_: number, i: number): boolean => !Number.isNaN(rows.realised[i]!);
  return {
    ticker: rows.ticker,
    days: rows.days.filter(known),
    predicted: rows.predicted.filter(known),
    realised: rows.realised.filter(known),
    trainingMean: rows.trainingMean.filter(known),
  };
}

/** Arrays end to end. */
export function concatenate(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
