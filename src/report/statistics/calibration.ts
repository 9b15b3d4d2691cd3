import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { mean } from "../../evaluate/statistics.ts";
import { type Band, bandOf, ratioOverDates } from "./over-dates.ts";

/** Rows whose forecasts lie together: their mean forecast and mean return, with the 95 % band of the latter. */
export interface CalibrationBin {
  readonly n: number;
  readonly predicted: number;
  readonly realised: number;
  readonly band: Band | null;
}

/**
 * A calibration curve: rows of all tickers sorted by their forecast and cut into bins of as many rows as can be. Equal forecasts stay
 * in one bin, so there are fewer bins where they repeat. The band takes dates as units, since the rows of a date move together.
 * @param rows labelled.
 */
export function calibration(rows: readonly DatedForecasts[], count: number): CalibrationBin[] {
  const sorted = concatenate(rows.map(({ predicted }) => predicted)).sort();
  const starts = binStarts(sorted, count);
  const uppers = starts.slice(1).map((start) => sorted[start]!);
  const byBin = starts.map(() => new Map<number, { sum: number; n: number }>());
  for (const { days, predicted, realised } of rows) {
    for (let i = 0; i < days.length; i++) {
      const sums = byBin[binOf(predicted[i]!, uppers)]!;
      const found = sums.get(days[i]!) ?? { sum: 0, n: 0 };
      found.sum += realised[i]!;
      found.n++;
      sums.set(days[i]!, found);
    }
  }
  return byBin.map((sums, bin) => {
    const dates = [...sums].sort(([a], [b]) => a - b).map(([, date]) => date);
    const { ratio, error } = ratioOverDates({
      numerators: Float64Array.from(dates, ({ sum }) => sum),
      denominators: Float64Array.from(dates, ({ n }) => n),
    });
    const inside = sorted.subarray(starts[bin]!, starts[bin + 1] ?? sorted.length);
    return { n: inside.length, predicted: mean(inside), realised: ratio, band: bandOf(ratio, error) };
  });
}

/** Where each bin begins in ascending forecasts; of equal ones at the first. */
function binStarts(sorted: Float64Array, count: number): number[] {
  const starts = new Set<number>();
  for (let bin = 0; bin < count && sorted.length > 0; bin++) {
    let start = Math.floor((bin * sorted.length) / count);
    while (start > 0 && sorted[start - 1] === sorted[start]) start--;
    starts.add(start);
  }
  return [...starts];
}

/** @param uppers the first forecast of each bin but the first, ascending. */
function binOf(value: number, uppers: readonly number[]): number {
  let bin = 0;
  while (bin < uppers.length && value >= uppers[bin]!) bin++;
  return bin;
}
