import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../test/twins/random.ts";
import { atOnce } from "../contract/machine/pausable.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { isSkilled, SKILLED_T, skillOf } from "./skill.ts";

interface MarketOptions {
  readonly tickers: number;
  readonly dates: number;
  /** How much of a label's surprise a forecast holds. */
  readonly share: number;
  /** The mean of labels, in their deviations: of those to learn and of those to forecast. */
  readonly drift?: number;
  /** Of a forecast's noise, in the labels' deviations. */
  readonly noise?: number;
}

/**
 * Tickers of different volatility, each on most dates. A forecast is the training mean, `share` of what the label has beside
 * the drift, and noise; the training mean is that of 500 labels.
 */
function market(
  seed: number,
  { tickers, dates, share, drift = 0, noise = 0.3 }: MarketOptions,
): ForecastRows[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const size = 0.01 * (t + 1);
    const days = Int32Array.from({ length: dates }, (_day, d) => 100 + d).filter(
      () => random.uniform() < 0.9,
    );
    const realised = Float64Array.from(days, () => size * (drift + random.normal()));
    const learned = size * (drift + random.normal() / Math.sqrt(500));
    const predicted = realised.map(
      (y) => learned + share * (y - size * drift) + noise * size * random.normal(),
    );
    return { ticker: `T${t}`, days, realised, predicted, trainingMean: realised.map(() => learned) };
  });
}

/** Every sum written out, date by date. */
function slowT(rows: readonly ForecastRows[], baseline: (trainingMean: number) => number) {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const gains = new Map<number, number[]>();
  for (const { days, realised, predicted, trainingMean } of rows) {
    const square = sum([...realised].map((y) => y * y)) / realised.length;
    if (!(square > 0)) continue;
    for (const [i, day] of days.entries()) {
      const [y, p, r] = [realised[i]!, predicted[i]!, baseline(trainingMean[i]!)];
      gains.set(day, [...(gains.get(day) ?? []), ((y - r) ** 2 - (y - p) ** 2) / square]);
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

test("each t agrees with the slow twin, in any order of tickers", () => {
  const property = fc.property(
    fc.nat(),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 2, max: 40 }),
    fc.constantFrom(0, 0.2, -1),
    (seed, tickers, dates, drift) => {
      const rows = market(seed, { tickers, dates, share: 0.1, drift });
      const found = atOnce(skillOf(rows));
      const near = (t: number | null, slow: ReturnType<typeof slowT>) => {
        assert.equal(found.dates, slow.dates);
        assert.ok(t === slow.t || Math.abs(t! - slow.t!) < 1e-6 * Math.max(1, Math.abs(slow.t!)));
      };
      near(
        found.t.zero,
        slowT(rows, () => 0),
      );
      near(
        found.t.mean,
        slowT(rows, (trainingMean) => trainingMean),
      );
      assert.deepEqual(atOnce(skillOf([...rows].reverse())), found);
    },
  );
  fc.assert(property, { seed: 31, numRuns: 100 });
});

test("forecasts that hold a part of the label have skill, with drift and without, and noise is worse than both", () => {
  for (const drift of [0, 0.5]) {
    const { t } = atOnce(skillOf(market(1, { tickers: 4, dates: 200, share: 0.3, drift })));
    assert.ok(t.zero! > 5 && t.mean! > 5, `drift ${drift}`);
  }
  const { t } = atOnce(skillOf(market(1, { tickers: 4, dates: 200, share: 0 })));
  assert.ok(t.zero! < 0 && t.mean! < 0);
});

test("drift alone is better than 0 and no skill: the training mean has no t against itself, but for rounding neither", () => {
  const rows = market(5, { tickers: 4, dates: 200, share: 0, drift: 0.5, noise: 0 });
  for (const off of [0, 1e-16, -1e-9]) {
    const forecasts = rows.map((row) => ({ ...row, predicted: row.trainingMean.map((m) => m * (1 + off)) }));
    const { t } = atOnce(skillOf(forecasts));
    assert.ok(isSkilled(t.zero) && t.zero! > 5);
    assert.deepEqual([t.mean, isSkilled(t.mean)], [null, false], String(off));
  }
});

test("the training mean and noise is better than 0 where drift goes on, and not better than the training mean", () => {
  const { t } = atOnce(skillOf(market(6, { tickers: 4, dates: 200, share: 0, drift: 0.5, noise: 0.1 })));
  assert.ok(isSkilled(t.zero) && t.mean! < 0);
});

test("a t that is asked for is enough", () => {
  assert.deepEqual([SKILLED_T, SKILLED_T - 1e-12].map(isSkilled), [true, false]);
});

test("no t depends on the unit of a ticker's returns, but for rounding", () => {
  const rows = market(2, { tickers: 3, dates: 100, share: 0.1, drift: 0.1 });
  const { t } = atOnce(skillOf(rows));
  for (const unit of [2 ** -600, 1_000, 2 ** 500]) {
    const inUnits = (values: Float64Array) => values.map((value) => unit * value);
    const scaled = rows.map((row, i) =>
      i === 1
        ? {
            ...row,
            realised: inUnits(row.realised),
            predicted: inUnits(row.predicted),
            trainingMean: inUnits(row.trainingMean),
          }
        : row,
    );
    const found = atOnce(skillOf(scaled)).t;
    assert.ok(Math.abs(found.zero! - t.zero!) < 1e-9 && Math.abs(found.mean! - t.mean!) < 1e-9, String(unit));
  }
});

test("without rows, and with labels or forecasts of 0 alone, there is no t", () => {
  const none = { zero: null, mean: null };
  assert.deepEqual(atOnce(skillOf([])), { dates: 0, t: none });
  const rows = market(3, { tickers: 2, dates: 30, share: 0.1 });
  const zeros = (values: Float64Array) => new Float64Array(values.length);
  const unlabelled = rows.map((row) => ({ ...row, realised: zeros(row.realised) }));
  assert.deepEqual(atOnce(skillOf(unlabelled)), { dates: 0, t: none });
  const zero = rows.map((row) => ({ ...row, predicted: zeros(row.predicted) }));
  assert.equal(atOnce(skillOf(zero)).t.zero, null);
});

test("forecasts beyond all measure are no skill and no error", () => {
  const [row] = market(4, { tickers: 1, dates: 30, share: 0 });
  const { t } = atOnce(skillOf([{ ...row!, predicted: row!.predicted.map(() => 1e300) }]));
  assert.deepEqual(t, { zero: null, mean: null });
});
