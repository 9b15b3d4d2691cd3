import { eachDate, type RowsByDate } from "../../evaluate/rows-by-date.ts";
import { mean } from "../../evaluate/statistics.ts";
import { type Band, ratioOverDates } from "./over-dates.ts";

/** A bin of rows with similar forecasts: their mean forecast and mean return, with the 95 % band of the latter. */
export interface CalibrationBin {
  readonly n: number;
  readonly predicted: number;
  readonly realised: number;
  readonly band: Band | null;
}

/**
 * A calibration curve: the rows of all tickers, sorted by forecast and split into bins that are as equal in size as possible. Equal
 * forecasts stay in one bin, so there are fewer bins if forecasts repeat. The band uses dates as units, since the rows of a date move
 * together.
 * @param rows labelled.
 */
export function calibration(rows: RowsByDate, count: number): CalibrationBin[] {
  const sorted = rows.predicted.slice().sort();
  const starts = binStarts(sorted, count);
  const uppers = starts.slice(1).map((start) => sorted[start]!);
  const bins = starts.map(() => ({ numerators: [] as number[], denominators: [] as number[] }));
  const sums = new Float64Array(bins.length);
  const held = new Float64Array(bins.length);
  for (const { predicted, realised } of eachDate(rows)) {
    sums.fill(0);
    held.fill(0);
    for (let i = 0; i < predicted.length; i++) {
      const bin = binOf(predicted[i]!, uppers);
      sums[bin]! += realised[i]!;
      held[bin]!++;
    }
    for (const [bin, { numerators, denominators }] of bins.entries()) {
      if (held[bin] === 0) continue;
      numerators.push(sums[bin]!);
      denominators.push(held[bin]!);
    }
  }
  return bins.map(({ numerators, denominators }, bin) => {
    const { ratio, band } = ratioOverDates({
      numerators: Float64Array.from(numerators),
      denominators: Float64Array.from(denominators),
    });
    const inside = sorted.subarray(starts[bin]!, starts[bin + 1] ?? sorted.length);
    return { n: inside.length, predicted: mean(inside), realised: ratio, band };
  });
}

/** The start of each bin in ascending forecasts; among equal forecasts, the first. */
function binStarts(sorted: Float64Array, count: number): number[] {
  const starts = new Set<number>();
  for (let bin = 0; bin < count && sorted.length > 0; bin++) {
    let start = Math.floor((bin * sorted.length) / count);
    while (start > 0 && sorted[start - 1] === sorted[start]) start--;
    starts.add(start);
  }
  return [...starts];
}

/** @param uppers the first forecast of each bin except the first, ascending. */
function binOf(value: number, uppers: readonly number[]): number {
  let bin = 0;
  while (bin < uppers.length && value >= uppers[bin]!) bin++;
  return bin;
}
