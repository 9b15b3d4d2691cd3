import { seededRandom } from "../../../test/twins/random.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";

/** A row as a plain object, for slow twins. */
export interface PlainRow {
  readonly ticker: string;
  readonly day: number;
  readonly p: number;
  readonly y: number;
}

/** Rows of tickers that lack some dates; forecasts and returns are whole thousandths, so that some are equal. */
export function datedRows(seed: number, tickers = 7, dates = 60): DatedForecasts[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const days = Array.from({ length: dates }, (_, d) => 17_000 + d).filter(() => random.uniform() < 0.8);
    const rounded = (scale: number) =>
      Float64Array.from(days, () => Math.round(scale * random.normal()) / 1_000);
    return { ticker: `T${t}`, days: Int32Array.from(days), predicted: rounded(3), realised: rounded(12) };
  });
}

export function plainRows(rows: readonly DatedForecasts[]): PlainRow[] {
  return rows.flatMap(({ ticker, days, predicted, realised }) =>
    Array.from(days, (day, i) => ({ ticker, day, p: predicted[i]!, y: realised[i]! })),
  );
}

/** The rows of each date, dates ascending, tickers in their order. */
export function byDate(rows: readonly PlainRow[]): [day: number, rows: PlainRow[]][] {
  const days = [...new Set(rows.map(({ day }) => day))].sort((a, b) => a - b);
  return days.map((day) => [day, rows.filter((row) => row.day === day)]);
}

export function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The error of a mean over dates: from 60 values on by cosine sums. */
export function slowError(values: readonly number[]): number {
  const n = values.length;
  if (n < 60) return slowLagError(values, 5);
  const sums = [1, 2, 3, 4, 5, 6, 7, 8].map((j) =>
    values.reduce((sum, value, i) => sum + value * Math.cos((Math.PI * j * (i + 0.5)) / n), 0),
  );
  return Math.sqrt(((2 / n) * average(sums.map((sum) => sum ** 2))) / n);
}

/** The Newey-West error of a mean from all weighted pairs of values. */
function slowLagError(values: readonly number[], lag: number): number {
  const centre = average(values);
  let variance = 0;
  for (const [i, a] of values.entries()) {
    for (const [j, b] of values.entries()) {
      const weight = Math.max(0, 1 - Math.abs(i - j) / (lag + 1));
      variance += (weight * (a - centre) * (b - centre)) / values.length ** 2;
    }
  }
  return Math.sqrt(variance);
}

/** Of 0.975: Student's with 8 degrees of freedom or, for fewer than 60 dates, the fixed-b one with each term of its cubic. */
export function slowBandQuantile(dates: number): number {
  if (dates >= 60) return 2.3060041352041662;
  const b = 6 / dates;
  return 1.96 + 2.9694 * b + 0.416 * b * b - 0.5324 * b * b * b;
}

export function isNear(a: number, b: number, tolerance = 1e-9): boolean {
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b));
}
