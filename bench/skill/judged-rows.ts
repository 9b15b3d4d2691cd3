import { readFileSync } from "node:fs";
import { type Day, formatDay, parseDay } from "../../src/contract/market/dates.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { labelPrices } from "../../src/panel/labels.ts";

/** The rows of one ticker that forecasts are judged on. */
export interface JudgedTicker {
  readonly ticker: string;
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /** Shape (n): the label, a log-return, finite. */
  readonly realised: Float64Array;
  /** Mean of the labels that are known at the cut. */
  readonly trainingMean: number;
}

/** Price columns as `mucast prepare` writes them. */
interface PriceBlob {
  readonly dates: readonly string[];
  readonly prices: Readonly<Record<string, readonly (number | null)[]>>;
}

/** The results of one row of the table: its forecasts in the form of an output, and their cost. */
export interface ForecastFile {
  readonly forecasts: Readonly<
    Record<string, { readonly dates: readonly string[]; readonly predicted: readonly number[] }>
  >;
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Processor seconds of all its processes; null on systems other than Linux. */
  readonly processor_seconds: number | null;
}

/** Forecasts of the judged rows, by ticker: shape (its judged rows), NaN if there is none. */
export type Forecasts = readonly Float64Array[];

/**
 * The rows whose label is known after the cut, from the price blob alone. Tickers without a label up to the cut, or after it, are dropped.
 * @param until the last date of a row. @param delay of the labels.
 */
export function judgedRows(pricePath: string, cut: Day, until: Day, delay: number): JudgedTicker[] {
  const { dates, prices } = JSON.parse(readFileSync(pricePath, "utf8")) as PriceBlob;
  const days = dates.map((date) => parseDay(date)!);
  return Object.entries(prices).flatMap(([ticker, column]) => {
    const priced = column.flatMap((price, i) => (price === null ? [] : [{ day: days[i]!, price }]));
    const own = Int32Array.from(priced, ({ day }) => day);
    const closes = Float64Array.from(priced, ({ price }) => price);
    const { y, labelDays } = labelPrices(own, closes, delay);
    const known = y.filter((value, i) => !Number.isNaN(value) && labelDays[i]! <= cut);
    const judged = Array.from(own.keys()).filter((i) => labelDays[i]! > cut && own[i]! <= until);
    if (known.length === 0 || judged.length === 0) return [];
    return {
      ticker,
      days: Int32Array.from(judged, (i) => own[i]!),
      realised: Float64Array.from(judged, (i) => y[i]!),
      trainingMean: mean(known),
    };
  });
}

export function judgedForecasts(
  forecasts: ForecastFile["forecasts"],
  judged: readonly JudgedTicker[],
): Forecasts {
  return judged.map(({ ticker, days }) => {
    const { dates, predicted } = forecasts[ticker] ?? { dates: [], predicted: [] };
    const byDate = new Map(dates.map((date, i) => [date, predicted[i]!]));
    return Float64Array.from(days, (day) => byDate.get(formatDay(day)) ?? Number.NaN);
  });
}

/** For each judged ticker, the indices of the rows that all of them forecast. */
export function commonRows(judged: readonly JudgedTicker[], all: readonly Forecasts[]): Int32Array[] {
  return judged.map(({ days }, t) =>
    Int32Array.from(days.keys().filter((i) => all.every((forecasts) => !Number.isNaN(forecasts[t]![i]!)))),
  );
}

/** The judged rows of these indices with the forecasts of one row of the table. */
export function forecastRows(
  judged: readonly JudgedTicker[],
  common: readonly Int32Array[],
  forecasts: Forecasts,
): ForecastRows[] {
  return judged.map(({ ticker, days, realised, trainingMean }, t) => {
    const kept = common[t]!;
    const of = (values: Float64Array) => Float64Array.from(kept, (i) => values[i]!);
    return {
      ticker,
      days: Int32Array.from(kept, (i) => days[i]!),
      realised: of(realised),
      predicted: of(forecasts[t]!),
      trainingMean: new Float64Array(kept.length).fill(trainingMean),
    };
  });
}
