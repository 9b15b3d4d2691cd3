import assert from "node:assert/strict";
import { test } from "node:test";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { sortedByDate } from "../../evaluate/rows-by-date.ts";
import { calibration } from "./calibration.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  type PlainRow,
  plainRows,
  slowBandQuantile,
  slowError,
} from "./dated-rows.testing.ts";

/** Bins of the sorted rows: each starts at its tenth, or where the forecast there starts to repeat. */
function slowBins(rows: readonly PlainRow[], count: number): PlainRow[][] {
  const sorted = [...rows].sort((a, b) => a.p - b.p);
  const bins: PlainRow[][] = [];
  for (const [i, row] of sorted.entries()) {
    const isStart = Array.from({ length: count }, (_, k) => Math.floor((k * sorted.length) / count)).some(
      (start) => sorted.findIndex(({ p }) => p === sorted[start]!.p) === i,
    );
    if (isStart) bins.push([]);
    bins.at(-1)!.push(row);
  }
  return bins;
}

/** The error of a mean over rows with dates as units, one line per step. */
function slowBinError(bin: readonly PlainRow[]): number {
  const mean = average(bin.map(({ y }) => y));
  const dates = byDate(bin).map(([, date]) => date);
  const residuals = dates.map((date) => date.reduce((sum, { y }) => sum + y - mean, 0));
  return slowError(residuals) / average(dates.map((date) => date.length));
}

test("bins, their means and their bands equal those from the sorted rows", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const rows = datedRows(seed, 6, 20 + 10 * seed);
    const bins = calibration(sortedByDate(rows), 10);
    const slow = slowBins(plainRows(rows), 10);
    assert.deepEqual(
      bins.map(({ n }) => n),
      slow.map((bin) => bin.length),
    );
    for (const [i, bin] of slow.entries()) {
      const { predicted, realised, band } = bins[i]!;
      assert.ok(isNear(predicted, average(bin.map(({ p }) => p))));
      assert.ok(isNear(realised, average(bin.map(({ y }) => y))));
      const dates = new Set(bin.map(({ day }) => day)).size;
      assert.equal(band === null, dates < MIN_DATES);
      const half = slowBandQuantile(dates) * slowBinError(bin);
      if (band !== null) assert.ok(isNear(band.high - band.low, 2 * half, 1e-6));
    }
  }
});

test("equal forecasts give one bin, and no rows give none", () => {
  const rows = datedRows(1).map((row) => ({ ...row, predicted: new Float64Array(row.days.length) }));
  assert.deepEqual(
    calibration(sortedByDate(rows), 10).map(({ n }) => n),
    [plainRows(rows).length],
  );
  assert.deepEqual(calibration(sortedByDate([]), 10), []);
});
