import { readFileSync } from "node:fs";
import { formatDay } from "../../src/contract/market/dates.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import type { JudgedTicker } from "./judged-rows.ts";

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

export interface RowForecasts {
  readonly forecasts: Forecasts;
  readonly seconds: number;
  readonly processorSeconds: number | null;
}

export function readForecasts(path: string, judged: readonly JudgedTicker[]): RowForecasts {
  const file = JSON.parse(readFileSync(path, "utf8")) as ForecastFile;
  return {
    forecasts: judgedForecasts(file.forecasts, judged),
    seconds: file.seconds,
    processorSeconds: file.processor_seconds,
  };
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
