import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { labelled } from "../../evaluate/forecast-rows.ts";
import { sortedByDate } from "../../evaluate/rows-by-date.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  plainRows,
  slowBandQuantile,
  slowError,
} from "./dated-rows.testing.ts";
import {
  bandOf,
  hitRateErrorOf,
  meanBand,
  months,
  noSkillFunnel,
  noSkillMean,
  ratioOverDates,
  signedRows,
  years,
} from "./over-dates.ts";

test("the hit rate over dates equals that over rows, and its error comes from the linearised dates", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed);
    const signed = plainRows(rows).filter(({ y, p }) => y !== 0 && p !== 0);
    const isHit = ({ y, p }: { y: number; p: number }) => (Math.sign(y) === Math.sign(p) ? 1 : 0);
    const { ratio, error } = ratioOverDates(signedRows(sortedByDate(rows)));
    assert.ok(isNear(ratio, average(signed.map(isHit))));
    const dates = byDate(signed).map(([, date]) => date);
    const linearised = dates.map((date) => date.reduce((sum, row) => sum + isHit(row) - ratio, 0));
    assert.ok(isNear(error!, slowError(linearised) / average(dates.map((date) => date.length))));
    const open = rows.map((row) => ({ ...row, trainingMean: row.realised.fill(Number.NaN, 0, 5) }));
    assert.equal(hitRateErrorOf(open), ratioOverDates(signedRows(sortedByDate(open.map(labelled)))).error);
  }
});

test("a band is the error from cosine sums, or for few dates from all pairs, times its quantile, in both directions", () => {
  const random = seededRandom(4);
  for (const dates of [30, 75, 400]) {
    const values = Float64Array.from({ length: dates }, () => 0.1 + random.normal());
    const { low, high } = meanBand(values)!;
    const half = slowBandQuantile(dates) * slowError([...values]);
    assert.ok(isNear(low, average([...values]) - half, 1e-9));
    assert.ok(isNear(high, average([...values]) + half, 1e-9));
  }
});

test("without an error there is no band", () => {
  assert.equal(meanBand(Float64Array.of(1)), null);
  assert.ok(noSkillFunnel(Float64Array.of(1, 1, 1)).every(Number.isNaN));
  assert.equal(bandOf(null, 1, 100), null);
  assert.equal(bandOf(1, null, 100), null);
  assert.equal(bandOf(1, 1, MIN_DATES - 1), null);
  const none = ratioOverDates(signedRows(sortedByDate([])));
  assert.ok(Number.isNaN(none.ratio) && none.error === null);
});

test("the funnel after k dates follows from k values with the variance from all weighted pairs", () => {
  const random = seededRandom(2);
  const values = Float64Array.from({ length: 120 }, () => 0.3 * random.normal() + 0.02);
  const deviation = slowError([...values]) * Math.sqrt(values.length);
  const funnel = noSkillFunnel(values);
  for (const [i, half] of funnel.entries()) {
    assert.ok(isNear(half, slowBandQuantile(120) * deviation * Math.sqrt(i + 1)));
  }
  assert.ok(isNear(noSkillMean(values, 63), (slowBandQuantile(120) * deviation) / Math.sqrt(63)));
});

/** Successive positions whose dates begin with the same characters. */
function slowGroups(days: Int32Array, characters: number): [string, number, number][] {
  const groups: [string, number, number][] = [];
  for (const [i, day] of days.entries()) {
    const name = formatDay(day).slice(0, characters);
    const last = groups.at(-1);
    if (last?.[0] === name) last[2] = i + 1;
    else groups.push([name, i, i + 1]);
  }
  return groups;
}

test("months and years follow from the dates as written", () => {
  const day = fc.integer({ min: -800, max: 40_000 });
  const property = fc.property(fc.uniqueArray(day, { maxLength: 60 }), (list) => {
    const days = Int32Array.from(list).sort();
    const month = months(days).map(({ year, month: number, from, to }) => [
      `${year}-${String(number).padStart(2, "0")}`,
      from,
      to,
    ]);
    assert.deepEqual(month, slowGroups(days, 7));
    assert.deepEqual(
      years(days).map(({ year, from, to }) => [String(year), from, to]),
      slowGroups(days, 4),
    );
  });
  fc.assert(property, { seed: 1 });
});
