import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../test/twins/random.ts";
import { atOnce } from "../contract/machine/pausable.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import { skillOf } from "./skill.ts";

/** Tickers of different volatility, each on most dates; a forecast is `share` of the label and noise of the label's size. */
function market(seed: number, tickers: number, dates: number, share: number): DatedForecasts[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const days = Int32Array.from({ length: dates }, (_day, d) => 100 + d).filter(
      () => random.uniform() < 0.9,
    );
    const realised = Float64Array.from(days, () => 0.01 * (t + 1) * random.normal());
    const size = 0.3 * 0.01 * (t + 1);
    const predicted = realised.map((y) => share * y + size * random.normal());
    return { ticker: `T${t}`, days, realised, predicted };
  });
}

/** Every sum written out, date by date. */
function slowT(rows: readonly DatedForecasts[]): { dates: number; t: number | null } {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const gains = new Map<number, number[]>();
  for (const { days, realised, predicted } of rows) {
    const square = sum([...realised].map((y) => y * y)) / realised.length;
    if (!(square > 0)) continue;
    for (const [i, day] of days.entries()) {
      const [y, p] = [realised[i]!, predicted[i]!];
      gains.set(day, [...(gains.get(day) ?? []), (y * y - (y - p) ** 2) / square]);
    }
  }
  const means = [...gains].sort(([a], [b]) => a - b).map(([, of]) => sum(of) / of.length);
  const n = means.length;
  const mean = sum(means) / n;
  const variance = sum(
    means.flatMap((a, i) =>
      means.map((b, j) => Math.max(0, 1 - Math.abs(i - j) / 6) * (a - mean) * (b - mean)),
    ),
  );
  return { dates: n, t: n < 2 ? null : mean / Math.sqrt(variance / n ** 2) };
}

test("the t agrees with the slow twin, in any order of tickers", () => {
  const property = fc.property(
    fc.nat(),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 2, max: 40 }),
    (seed, tickers, dates) => {
      const rows = market(seed, tickers, dates, 0.1);
      const found = atOnce(skillOf(rows));
      const slow = slowT(rows);
      assert.equal(found.dates, slow.dates);
      assert.ok(found.t === slow.t || Math.abs(found.t! - slow.t!) < 1e-6 * Math.max(1, Math.abs(slow.t!)));
      assert.deepEqual(atOnce(skillOf([...rows].reverse())), found);
    },
  );
  fc.assert(property, { seed: 31, numRuns: 100 });
});

test("forecasts that hold a part of the label have skill, and noise is worse than 0", () => {
  assert.ok(atOnce(skillOf(market(1, 4, 200, 0.3))).t! > 5);
  assert.ok(atOnce(skillOf(market(1, 4, 200, 0))).t! < 0);
});

test("the t does not depend on the unit of a ticker's returns, but for rounding", () => {
  const rows = market(2, 3, 100, 0.1);
  const { t } = atOnce(skillOf(rows));
  for (const unit of [2 ** -600, 1_000, 2 ** 500]) {
    const scaled = rows.map((row, i) => ({
      ...row,
      realised: row.realised.map((y) => (i === 1 ? unit * y : y)),
      predicted: row.predicted.map((p) => (i === 1 ? unit * p : p)),
    }));
    assert.ok(Math.abs(atOnce(skillOf(scaled)).t! - t!) < 1e-9, String(unit));
  }
});

test("without rows, and with labels or forecasts of 0 alone, there is no t", () => {
  assert.deepEqual(atOnce(skillOf([])), { dates: 0, t: null });
  const rows = market(3, 2, 30, 0.1);
  const none = (values: Float64Array) => new Float64Array(values.length);
  assert.deepEqual(atOnce(skillOf(rows.map((row) => ({ ...row, realised: none(row.realised) })))), {
    dates: 0,
    t: null,
  });
  assert.equal(atOnce(skillOf(rows.map((row) => ({ ...row, predicted: none(row.predicted) })))).t, null);
});

test("forecasts beyond all measure are no skill and no error", () => {
  const [row] = market(4, 1, 30, 0);
  assert.equal(atOnce(skillOf([{ ...row!, predicted: row!.predicted.map(() => 1e300) }])).t, null);
});
