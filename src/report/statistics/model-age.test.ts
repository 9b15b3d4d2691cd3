import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { skillByAge } from "./model-age.ts";
import { meanBand } from "./over-dates.ts";

const cases = fc.record({
  every: fc.integer({ min: 1, max: 40 }),
  early: fc.integer({ min: 0, max: 5 }),
  dates: fc.integer({ min: 2, max: 300 }),
  counts: fc.array(fc.boolean(), { minLength: 310, maxLength: 310 }),
  values: fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 310, maxLength: 310 }),
});

test("figures by age equal a slow count", () => {
  const property = fc.property(cases, ({ every, early, dates, counts, values }) => {
    fc.pre(dates > every);
    const forecastDays = Int32Array.from({ length: early + dates }, (_, i) => 100 + 3 * i);
    const refits: number[] = [];
    for (let i = every; i < dates; i += every) refits.push(forecastDays[early + i]!);
    const kept = [...forecastDays.keys()].filter((i) => counts[i]);
    const days = Int32Array.from(kept, (i) => forecastDays[i]!);
    const figures = Float64Array.from(kept, (i) => values[i]!);
    const found = skillByAge(days, figures, { forecastDays, refits, every });
    const width = Math.ceil(every / 5);
    const expected = new Map<number, number[]>();
    for (const i of kept) {
      const age = i < early ? 0 : (i - early) % every;
      const bin = Math.floor(age / width);
      expected.set(bin, [...(expected.get(bin) ?? []), values[i]!]);
    }
    assert.ok(found.length <= 5);
    assert.equal(found.length, expected.size);
    for (const { from, to, dates: n, mean, band } of found) {
      const own = expected.get(from / width)!;
      assert.equal(to, Math.min(from + width, every) - 1);
      assert.equal(n, own.length);
      assert.ok(Math.abs(mean - own.reduce((sum, value) => sum + value, 0) / n) < 1e-12);
      assert.deepEqual(band, meanBand(Float64Array.from(own)));
    }
  });
  fc.assert(property, { seed: 9, numRuns: 200 });
});

test("a block without a forecast on its first date, or on any, does not age the others", () => {
  const every = 4;
  const all = Array.from({ length: 12 }, (_, i) => i);
  const counts = (missing: readonly number[]) => {
    const forecastDays = Int32Array.from(all.filter((day) => !missing.includes(day)));
    const dates = { forecastDays, refits: [4, 8], every };
    return skillByAge(forecastDays, new Float64Array(forecastDays.length), dates).map(({ dates: n }) => n);
  };
  assert.deepEqual(counts([]), [3, 3, 3, 3]);
  assert.deepEqual(counts([4]), [3, 3, 3, 2]);
  assert.deepEqual(counts([4, 5, 6, 7]), [2, 2, 2, 2]);
});

test("bins ascend, and few dates have no band", () => {
  const forecastDays = Int32Array.from({ length: 40 }, (_, i) => i);
  const found = skillByAge(forecastDays, Float64Array.from(forecastDays), {
    forecastDays,
    refits: [20],
    every: 20,
  });
  assert.deepEqual(
    found.map(({ from, to, dates, band }) => [from, to, dates, band]),
    [0, 4, 8, 12, 16].map((from) => [from, from + 3, 8, null]),
  );
});
