import { compareCodePoints } from "../contract/market/ticker-series.ts";

/** Forecasts of one ticker with the realised returns: shape (n) each. */
export interface DatedForecasts {
  readonly ticker: string;
  /** The market date of each forecast, ascending. */
  readonly days: Int32Array;
  /** Log-return of the label, finite. */
  readonly predicted: Float64Array;
  /** The label, NaN if it is not known yet. */
  readonly realised: Float64Array;
  /** The level of its date that each forecast starts from, log-return; absent if it is 0, as without target `relative`. */
  readonly levels?: Float64Array;
}

/** Forecasts that are compared with a baseline: score rows, out-of-fold rows, or the validation or calibration part of a network. */
export interface ForecastRows extends DatedForecasts {
  /**
   * Shape (n): mean of the labels that the model had learned from at that row: out of fold, those of the fold's training rows; in a network's
   * validation and calibration parts, those of its training part; on score rows, those of all fit rows.
   */
  readonly trainingMean: Float64Array;
  /**
   * Shape (n): the forecasts whose order is judged, if others than `predicted`: the model's own where `predicted` are those times one factor
   * for all tickers, which changes no order unless it is 0.
   */
  readonly ranked?: Float64Array;
  /** Deviation (ddof 0) of the labels of the ticker's fit rows; absent in outputs of 0.2.0. */
  readonly labelDeviation?: number | undefined;
}

export interface HeldOutRows extends ForecastRows {
  /** Shape (n), ascending: the date at whose close the label is known. */
  readonly labelDays: Int32Array;
}

export function asRanked<T extends ForecastRows>(rows: T): T {
  return rows.ranked === undefined ? rows : { ...rows, predicted: rows.ranked };
}

/** Tickers in the order of every sum, which does not depend on which ticker ended first. */
export function inTickerOrder<T extends { readonly ticker: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
}

export function labelled<T extends Pick<DatedForecasts, "realised">>(rows: T): T {
  const known = [...rows.realised.keys()].filter((i) => !Number.isNaN(rows.realised[i]!));
  return known.length === rows.realised.length ? rows : mapArrays(rows, (values) => valuesAt(values, known));
}

/** The rows [from, to), as views. */
export function sliceRows<T extends object>(rows: T, from: number, to?: number): T {
  return mapArrays(rows, (values) => values.subarray(from, to));
}

/** Changes every array of rows in the same way. */
function mapArrays<T extends object>(rows: T, change: (values: Float64Array | Int32Array) => unknown): T {
  const changed = Object.entries(rows).map(([name, value]) => [
    name,
    value instanceof Float64Array || value instanceof Int32Array ? change(value) : value,
  ]);
  return Object.fromEntries(changed) as T;
}

/** Shape (places): the values at these positions. */
export function valuesAt<A extends Float64Array | Int32Array>(values: A, places: ArrayLike<number>): A {
  const found = new (values.constructor as new (length: number) => A)(places.length);
  for (let i = 0; i < found.length; i++) found[i] = values[places[i]!]!;
  return found;
}

export function concatenate(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
