import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../test/twins/random.ts";
import { atOnce } from "../contract/machine/pausable.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { LEAST_DATES, neweyWestQuantile } from "./newey-west.ts";
import { isSkilled, type Skill, type SkillBaseline, skillOf } from "./skill.ts";

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

/** Every sum written out, date by date; the rounding that is allowed for is so, too. */
function slowSkill(rows: readonly ForecastRows[], baseline: (trainingMean: number) => number) {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const gains = new Map<number, number[]>();
  const squares: number[] = [];
  for (const { days, realised, predicted, trainingMean } of rows) {
    const square = sum([...realised].map((y) => y * y)) / realised.length;
    if (!(square > 0)) continue;
    for (const [i, day] of days.entries()) {
      const [y, p, r] = [realised[i]!, predicted[i]!, baseline(trainingMean[i]!)];
      const isSame = Math.abs(p - r) <= 1e-6 * Math.sqrt(square);
      const gain = isSame ? 0 : ((y - r) ** 2 - (y - p) ** 2) / square;
      gains.set(day, [...(gains.get(day) ?? []), gain]);
      squares.push((y * y + p * p + r * r) / square);
    }
  }
  if (gains.size === 0) return { dates: 0, t: null, isSkilled: false };
  const means = [...gains].sort(([a], [b]) => a - b).map(([, of]) => sum(of) / of.length);
  const n = means.length;
  const mean = sum(means) / n;
  const variance = sum(
    means.flatMap((a, i) =>
      means.map((b, j) => Math.max(0, 1 - Math.abs(i - j) / 6) * (a - mean) * (b - mean)),
    ),
  );
  const floor = (1e-12 * sum(squares)) / squares.length;
  const isEven = Math.sqrt(sum(means.map((gain) => (gain - mean) ** 2)) / n) <= floor;
  const t = isEven ? (Math.abs(mean) <= floor ? null : mean / 0) : mean / Math.sqrt(variance / n ** 2);
  return { dates: n, t, isSkilled: n >= LEAST_DATES && t !== null && t >= neweyWestQuantile(n) };
}

const BASELINES = {
  zero: () => 0,
  mean: (trainingMean: number) => trainingMean,
} as const satisfies Record<SkillBaseline, (trainingMean: number) => number>;

/** Holds a test of forecasts to the slow twin. */
function assertAsSlow(rows: readonly ForecastRows[], found: Skill): void {
  for (const name of ["zero", "mean"] as const) {
    const slow = slowSkill(rows, BASELINES[name]);
    const t = found.t[name];
    assert.equal(found.dates, slow.dates);
    assert.equal(isSkilled(found, name), slow.isSkilled);
    assert.ok(
      Object.is(t, slow.t) || Math.abs(t! - slow.t!) < 1e-6 * Math.max(1, Math.abs(slow.t!)),
      `${t} in place of ${slow.t}`,
    );
  }
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
      assertAsSlow(rows, found);
      assert.deepEqual(atOnce(skillOf([...rows].reverse())), found);
    },
  );
  fc.assert(property, { seed: 31, numRuns: 100 });
});

/** Tickers whose labels, forecasts and training means are the same on every date. */
function evenMarket(
  dates: number,
  tickers: readonly { readonly y: number; readonly p: number; readonly r: number }[],
): ForecastRows[] {
  return tickers.map(({ y, p, r }, t) => ({
    ticker: `T${t}`,
    days: Int32Array.from({ length: dates }, (_, d) => d),
    realised: new Float64Array(dates).fill(y),
    predicted: new Float64Array(dates).fill(p),
    trainingMean: new Float64Array(dates).fill(r),
  }));
}

test("equal gains are skill where they are gains, however the forecasts are rounded", () => {
  const value = fc.integer({ min: -100, max: 100 }).map((thousandths) => thousandths / 1_000);
  const property = fc.property(
    fc.array(fc.record({ y: value, p: value, r: value }), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(LEAST_DATES - 1, LEAST_DATES, 200),
    fc.nat(),
    (tickers, dates, seed) => {
      const even = evenMarket(dates, tickers);
      const found = atOnce(skillOf(even));
      assertAsSlow(even, found);
      const random = seededRandom(seed);
      const rounded = even.map((row) => ({
        ...row,
        predicted: row.predicted.map((p) => p * (1 + (random.below(3) - 1) * Number.EPSILON)),
      }));
      assert.deepEqual(atOnce(skillOf(rounded)), found);
    },
  );
  fc.assert(property, { seed: 32, numRuns: 300 });
});

test("perfect forecasts of equal labels are skill, and those as far off as a baseline have no t of their rounding", () => {
  const judged = (p: number, dates = 60) => {
    const skill = atOnce(skillOf(evenMarket(dates, [{ y: 0.01, p, r: 0.004 }])));
    return [skill.t.zero, skill.t.mean, isSkilled(skill, "zero"), isSkilled(skill, "mean")];
  };
  const { POSITIVE_INFINITY: gains, NEGATIVE_INFINITY: losses } = Number;
  assert.deepEqual(judged(0.01), [gains, gains, true, true]);
  assert.deepEqual(judged(0.01, LEAST_DATES - 1), [gains, gains, false, false]);
  assert.deepEqual(judged(0.03), [losses, losses, false, false]);
  // As far above the label as 0, or the training mean, is below it.
  assert.deepEqual(judged(0.02), [null, losses, false, false]);
  assert.deepEqual(judged(0.016), [gains, null, true, false]);
  const labels = seededRandom(8);
  const [even] = evenMarket(60, [{ y: 0, p: 0, r: 0.004 }]);
  const realised = even!.realised.map(() => labels.normal());
  const twice = realised.map((y) => (2 * y * 1e-7) / 1e-7);
  assert.equal(atOnce(skillOf([{ ...even!, realised, predicted: twice }])).t.zero, null);
});

test("tickers whose gains cancel on every date have no t of the rounding that is left", () => {
  // One gains 0.36 of its mean square, the other loses as much.
  const loss = 0.01 * (1 + Math.sqrt(1.36));
  const rows = evenMarket(60, [
    { y: 0.01, p: 0.002, r: 0 },
    { y: 0.01, p: loss, r: 0 },
  ]);
  assert.deepEqual(atOnce(skillOf(rows)).t, { zero: null, mean: null });
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
    const skill = atOnce(skillOf(forecasts));
    assert.ok(isSkilled(skill, "zero") && skill.t.zero! > 5);
    assert.deepEqual([skill.t.mean, isSkilled(skill, "mean")], [null, false], String(off));
  }
});

test("the training mean and noise is better than 0 where drift goes on, and not better than the training mean", () => {
  const skill = atOnce(skillOf(market(6, { tickers: 4, dates: 200, share: 0, drift: 0.5, noise: 0.1 })));
  assert.ok(isSkilled(skill, "zero") && skill.t.mean! < 0);
});

test("the t that is asked for is enough, and over too few dates none is", () => {
  const judged = (t: number, asked: number | null) =>
    isSkilled({ dates: 0, asked, t: { zero: t, mean: null } }, "zero");
  assert.deepEqual([judged(1.7, 1.7), judged(1.7 - 1e-12, 1.7), judged(1_000, null)], [true, false, false]);
  const { asked } = atOnce(skillOf(market(9, { tickers: 3, dates: 100, share: 0.1 })));
  assert.equal(asked, neweyWestQuantile(100));
});

test("gains of chance pass about once in twenty times, over few dates too", () => {
  const random = seededRandom(17);
  const passed = (dates: number) => {
    const draws = 2_000;
    let count = 0;
    for (let draw = 0; draw < draws; draw++) {
      const [even] = evenMarket(dates, [{ y: 0, p: 0, r: 0 }]);
      const realised = even!.realised.map(() => random.normal());
      // Forecasts so small that their own squares cost nothing: the gains are 0 on average.
      const predicted = even!.predicted.map(() => 1e-3 * random.normal());
      if (isSkilled(atOnce(skillOf([{ ...even!, realised, predicted }])), "zero")) count++;
    }
    return count / draws;
  };
  assert.equal(passed(LEAST_DATES - 1), 0);
  for (const dates of [LEAST_DATES, 60]) assert.ok(passed(dates) > 0.03 && passed(dates) < 0.065);
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
  assert.deepEqual(atOnce(skillOf([])), { dates: 0, asked: null, t: none });
  const rows = market(3, { tickers: 2, dates: 30, share: 0.1 });
  const zeros = (values: Float64Array) => new Float64Array(values.length);
  const unlabelled = rows.map((row) => ({ ...row, realised: zeros(row.realised) }));
  assert.deepEqual(atOnce(skillOf(unlabelled)), { dates: 0, asked: null, t: none });
  const zero = rows.map((row) => ({ ...row, predicted: zeros(row.predicted) }));
  assert.equal(atOnce(skillOf(zero)).t.zero, null);
});

test("a ticker without rows changes nothing, and a label that is NaN leaves no t in place of its ticker", () => {
  const rows = market(12, { tickers: 3, dates: 60, share: 0.3 });
  const empty = { ...rows[0]!, ticker: "U", days: new Int32Array(0), realised: new Float64Array(0) };
  assert.deepEqual(atOnce(skillOf([...rows, empty])), atOnce(skillOf(rows)));
  const [first, ...others] = rows;
  const lacking = { ...first!, realised: first!.realised.with(5, Number.NaN) };
  assert.deepEqual(atOnce(skillOf([lacking, ...others])).t, { zero: null, mean: null });
});

test("forecasts beyond all measure are no skill and no error", () => {
  const [row] = market(4, { tickers: 1, dates: 30, share: 0 });
  const { t } = atOnce(skillOf([{ ...row!, predicted: row!.predicted.map(() => 1e300) }]));
  assert.deepEqual(t, { zero: null, mean: null });
});
