import assert from "node:assert/strict";
import { test } from "node:test";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { correlation } from "../../evaluate/statistics.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  plainRows,
  slowBandQuantile,
  slowError,
} from "./dated-rows.testing.ts";
import { horizonSkill } from "./horizon-skill.ts";

/** The mean IC by looking up the rows of each ticker from each date on. */
function slowHorizon(rows: readonly DatedForecasts[], horizon: number): number[] {
  const plain = plainRows(rows);
  return byDate(plain).flatMap(([day, date]) => {
    const pairs = date.flatMap(({ ticker, p }) => {
      const later = plain.filter((row) => row.ticker === ticker && row.day >= day).slice(0, horizon);
      const steps = later.slice(1).map((row, i) => row.day - later[i]!.day);
      const isWhole = later.length === horizon && later.every(({ y }) => !Number.isNaN(y));
      return isWhole && steps.every((step) => step <= 10)
        ? [[p, average(later.map(({ y }) => y)) * horizon] as const]
        : [];
    });
    if (pairs.length < 5) return [];
    return (
      correlation(
        Float64Array.from(pairs, ([p]) => p),
        Float64Array.from(pairs, ([, y]) => y),
      ) ?? []
    );
  });
}

/** Some dates are more than ten days apart, and some labels are unknown. */
function gappyRows(seed: number): DatedForecasts[] {
  return datedRows(seed, 9, 260).map((row) => ({
    ...row,
    days: row.days.map((day) => (day > 17_100 ? day + 12 : day)),
    realised: row.realised.map((label, i) => (i % 31 === seed % 31 ? Number.NaN : label)),
  }));
}

test("the IC over several days equals summing each ticker's labels from the date on", () => {
  for (let seed = 1; seed <= 4; seed++) {
    const rows = gappyRows(seed);
    for (const horizon of [1, 2, 5, 10]) {
      const slow = slowHorizon(rows, horizon);
      const found = horizonSkill(rows, horizon)!;
      assert.deepEqual([found.horizon, found.dates], [horizon, slow.length]);
      assert.ok(isNear(found.ic, average(slow)));
      assert.equal(found.band === null, slow.length < Math.max(30, 12 * horizon));
      const half = slowBandQuantile(slow.length) * slowError(slow);
      if (found.band !== null) assert.ok(isNear(found.band.high - found.band.low, 2 * half));
    }
  }
});
