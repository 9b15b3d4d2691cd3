import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import { featureOf, tickerHistory } from "./feature-history.ts";
import { returnSurprises, surprisesOf } from "./last-returns.ts";
import {
  expandingRanks,
  FAST_LIMIT,
  FeaturePace,
  MIN_EARLIER,
  PooledSums,
  SLOW_LIMIT,
} from "./pooled-sums.ts";
import { dateQuantile, isBeyondLimit, orderedDates, type PooledTest, pooledTests } from "./pooled-tests.ts";

const normals = (n: number, random: Random) => Float64Array.from({ length: n }, () => random.normal());

test("an expanding rank equals a plain count among the rows before", () => {
  const random = seededRandom(1);
  const x = Float64Array.from({ length: 300 }, () =>
    random.uniform() < 0.1 ? Number.NaN : random.below(40),
  );
  const ranks = expandingRanks(x);
  for (const [i, value] of x.entries()) {
    const past = x.slice(0, i + 1).filter(Number.isFinite);
    if (!Number.isFinite(value) || past.length <= MIN_EARLIER) {
      assert.ok(Number.isNaN(ranks[i]!));
      continue;
    }
    const below = past.filter((one) => one < value).length;
    const equal = past.filter((one) => one === value).length;
    const expected = Math.sqrt(12) * ((below + equal / 2) / past.length - 0.5);
    assert.ok(Math.abs(ranks[i]! - expected) < 1e-12);
  }
});

test("last returns say nothing about a surprise, and its mean square is 1", () => {
  const random = seededRandom(3);
  const noise = normals(2_001, random);
  // A bounce: what one return gains the next one loses.
  const y = Float64Array.from({ length: 2_000 }, (_, i) => noise[i + 1]! - 0.6 * noise[i]!);
  y[77] = Number.NaN;
  const v = returnSurprises(y);
  const present = [...v.keys()].filter((i) => Number.isFinite(v[i]!) && Number.isFinite(y[i - 1]!));
  const product = (of: (i: number) => number) => present.reduce((sum, i) => sum + of(i), 0) / present.length;
  assert.ok(Math.abs(product((i) => v[i]! ** 2) - 1) < 0.01);
  assert.ok(Math.abs(product((i) => v[i]! * y[i - 1]!)) < 0.04);
  assert.ok(Number.isNaN(v[77]!));
});

test("the quantile over dates is Student's of the equivalent degrees of freedom", () => {
  // scipy.stats.t.isf(p, n / 4) / sqrt(1 - 6 / n).
  for (const [n, p, expected] of [
    [100, 1e-3, 3.552865],
    [500, 1e-6, 5.026634],
    [2_000, 1e-7, 5.299143],
  ] as const)
    assert.ok(Math.abs(dateQuantile(n, p) / expected - 1) < 0.01, `${n} ${p}: ${dateQuantile(n, p)}`);
});

/** A market of tickers whose features are given by their returns, and the tests of feature x. */
function testsOf(
  tickers: number,
  days: number,
  feature: (next: Float64Array, random: Random) => Float64Array,
  { seed = 5, drift = 0 } = {},
): readonly PooledTest[] {
  const random = seededRandom(seed);
  const dates = Int32Array.from({ length: days }, (_, i) => 18_000 + i);
  const factor = normals(days, random);
  const pooled = new PooledSums();
  for (let t = 0; t < tickers; t++) {
    let price = 100;
    const returns = factor.map((common) => drift + 0.01 * (0.6 * common + 0.8 * random.normal()));
    const prices = returns.map((value) => (price *= Math.exp(value)));
    const next = returns.map((_, i) => returns[i + 1] ?? Number.NaN);
    const history = tickerHistory(
      { ticker: `S${t}`, days: dates, prices },
      { ticker: `S${t}`, days: dates, columns: ["x"], values: feature(next, random) },
      { start: dates[0]!, end: dates.at(-1)! },
    );
    pooled.add(featureOf(history, 0), surprisesOf(history));
  }
  return pooledTests(pooled).get("x")!;
}

const P = 1e-5;
const found = (tests: readonly PooledTest[]) =>
  tests.filter((one) => isBeyondLimit(one, P)).map(({ side, form }) => `${side} ${form}`);
const correlated = (c: number) => (next: Float64Array, random: Random) =>
  next.map((value) => 100 * c * value + Math.sqrt(1 - c * c) * random.normal());

test("a correlation beyond honest ones is found, and one within them is not, however significant it is", () => {
  const leaking = testsOf(8, 1_500, correlated(0.3));
  assert.ok(found(leaking).includes("value over_time"));
  const { c, t } = leaking.find(({ side, form }) => side === "value" && form === "over_time")!;
  assert.ok(Math.abs(c - 0.3) < 0.05, String(c));
  // Dates are the units: the market moves all tickers at once, so the error is that of fewer rows than 12,000.
  assert.ok(c / t > 1.05 / Math.sqrt(8 * 1_500), String(c / t));
  const honest = testsOf(30, 800, correlated(0.08));
  assert.ok(honest.some(({ t }) => t > 8));
  assert.deepEqual(found(honest), []);
});

test("a price level is not a finding, with or without drift: over the whole sample it correlates with later returns anyway", () => {
  const level = (next: Float64Array) => {
    let sum = 0;
    return next.map((_, i) => (sum += next[i - 1] ?? 0));
  };
  for (let seed = 1; seed <= 4; seed++) {
    for (const drift of [0, 0.001]) {
      const tests = testsOf(20, 300, level, { seed, drift });
      assert.deepEqual(found(tests), []);
      assert.ok(Math.abs(tests[0]!.c) < 0.06, String(tests[0]!.c));
    }
  }
});

test("a tenth of dates with early values is found by their order", () => {
  const early = (next: Float64Array, random: Random) =>
    next.map((value, i) => (Math.floor(i / 5) % 10 === 3 ? 100 * value : random.normal()));
  assert.deepEqual(found(testsOf(8, 800, early)), ["value ordered_dates"]);
});

test("orders in both directions are not a finding", () => {
  const values = Float64Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 0.95 : i % 4 === 1 ? -0.95 : 0));
  assert.equal(orderedDates({ values, tickers: new Int32Array(400).fill(10) }), undefined);
  const oneWay = values.map(Math.abs);
  const { c, t } = orderedDates({ values: oneWay, tickers: new Int32Array(400).fill(10) })!;
  assert.equal(c, 0.5);
  assert.ok(Math.abs(t - Math.sqrt(200)) < 1e-12);
});

test("rows omitted by the next return's size are found; rows omitted by the last return's size are not", () => {
  const leftOut = (by: 0 | -1) => (next: Float64Array, random: Random) =>
    next.map((_, i) => (Math.abs(next[i + by] ?? 0) < 0.004 ? Number.NaN : random.normal()));
  assert.deepEqual(found(testsOf(6, 600, leftOut(0))), ["missing next_size"]);
  assert.deepEqual(
    found(testsOf(6, 600, leftOut(-1))).filter((one) => one !== "missing next_size"),
    [],
  );
});

test("values that last for days may correlate less, and quarterly figures least", () => {
  const random = seededRandom(6);
  const limitOf = (x: Float64Array) => {
    const pace = new FeaturePace();
    pace.add(x, expandingRanks(x));
    return pace.limit();
  };
  let slow = 0;
  assert.equal(limitOf(normals(1_000, random)), FAST_LIMIT);
  assert.equal(limitOf(normals(1_000, random).map((value) => (slow = 0.95 * slow + value))), SLOW_LIMIT);
  const steps = normals(16, random);
  const quarterly = Float64Array.from({ length: 1_000 }, (_, i) => steps[Math.floor(i / 63)]!);
  assert.ok(Math.abs(limitOf(quarterly) - 0.2 / Math.sqrt(66)) < 0.002);
});
