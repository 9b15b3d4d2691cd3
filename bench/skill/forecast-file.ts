import { readFileSync } from "node:fs";
import { type Day, parseDay } from "../../src/contract/market/dates.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import type { JudgedTicker } from "./judged-rows.ts";

/** What a row of the table leaves behind: its forecasts as an output of mucast has them, and how long they took. */
export interface ForecastFile {
  readonly forecasts: Readonly<
    Record<string, { readonly dates: readonly string[]; readonly predicted: readonly number[] }>
  >;
  readonly seconds: number;
}

/** Forecasts by ticker and day. */
export type Forecasts = ReadonlyMap<string, ReadonlyMap<Day, number>>;

export function readForecasts(path: string): { readonly forecasts: Forecasts; readonly seconds: number } {
  const { forecasts, seconds } = JSON.parse(readFileSync(path, "utf8")) as ForecastFile;
  const byTicker = Object.entries(forecasts).map(([ticker, { dates, predicted }]) => {
    const byDay = new Map(dates.map((date, i) => [parseDay(date)!, predicted[i]!]));
    return [ticker, byDay] as const;
  });
  return { forecasts: new Map(byTicker), seconds };
}

/** Only the rows that all of them forecast. */
export function commonRows(judged: readonly JudgedTicker[], all: readonly Forecasts[]): JudgedTicker[] {
  return judged.map((ticker) => {
    const { days, realised } = ticker;
    const isForecast = (day: Day) => all.every((forecasts) => forecasts.get(ticker.ticker)?.has(day));
    const kept = Array.from(days.keys()).filter((i) => isForecast(days[i]!));
    return {
      ...ticker,
      days: Int32Array.from(kept, (i) => days[i]!),
      realised: Float64Array.from(kept, (i) => realised[i]!),
    };
  });
}

/** The judged rows with the forecasts of one row of the table, which has one of each. */
export function forecastRows(judged: readonly JudgedTicker[], forecasts: Forecasts): ForecastRows[] {
  return judged.map(({ ticker, days, realised, trainingMean }) => ({
    ticker,
    days,
    realised,
    predicted: Float64Array.from(days, (day) => forecasts.get(ticker)!.get(day)!),
    trainingMean: new Float64Array(days.length).fill(trainingMean),
  }));
}
