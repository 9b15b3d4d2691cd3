import { compareCodePoints } from "../contract/market/ticker-series.ts";

/** Forecasts of one ticker with the realised returns. */
export interface DatedForecasts {
  readonly ticker: string;
  /** Shape (n), ascending: the market date of each forecast. */
  readonly days: Int32Array;
  /** Shape (n): log-return of the label, finite. */
  readonly predicted: Float64Array;
  /** Shape (n): the label, NaN if it is not known yet. */
  readonly realised: Float64Array;
  /** Shape (n): the level of its date that each forecast starts from, log-return; absent if it is 0, as without target `relative`. */
  readonly levels?: Float64Array;
}

/** Forecasts that are compared with a baseline: score rows, out-of-fold rows, or the validation or calibration part of a network. */
export interface ForecastRows extends DatedForecasts {
  /**
   * Shape (n): mean of the labels that the model had learned from at that row: out of fold, those of the fold's training rows; in
   * a network's validation and calibration parts, those of its training part; on score rows, those of all fit rows.
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

/** Labelled rows that a model did not learn from. */
export interface HeldOutRows extends ForecastRows {
  /** Shape (n), ascending: the date at whose close the label is known. */
  readonly labelDays: Int32Array;
}

/** The rows with the forecasts whose order is judged. */
export function asRanked<T extends ForecastRows>(rows: T): T {
  return rows.ranked === undefined ? rows : { ...rows, predicted: rows.ranked };
}

/** Tickers in the order of every sum, which does not depend on which ticker ended first. */
export function inTickerOrder<T extends { readonly ticker: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => compareCodePoints(a.ticker, b.ticker));
}

/** The rows whose labels are known. They are views if only the last labels are missing, as in score rows. */
export function labelled(rows: ForecastRows): ForecastRows {
  const { days, predicted, realised, trainingMean, ranked } = rows;
  let end = realised.length;
  while (end > 0 && Number.isNaN(realised[end - 1]!)) end--;
  const known: number[] = [];
  for (let i = 0; i < end; i++) if (!Number.isNaN(realised[i]!)) known.push(i);
  if (known.length === end) {
    const before = <T extends Float64Array | Int32Array>(values: T) => values.subarray(0, end) as T;
    return {
      ...rows,
      days: before(days),
      predicted: before(predicted),
      realised: before(realised),
      trainingMean: before(trainingMean),
      ...(ranked && { ranked: before(ranked) }),
    };
  }
  const select = (values: Float64Array) => Float64Array.from(known, (i) => values[i]!);
  return {
    ...rows,
    days: Int32Array.from(known, (i) => days[i]!),
    predicted: select(predicted),
    realised: select(realised),
    trainingMean: select(trainingMean),
    ...(ranked && { ranked: select(ranked) }),
  };
}

/** Concatenates arrays. */
export function concatenate(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
