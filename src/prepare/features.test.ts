import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../test/twins/random.ts";
import type { TickerPrices } from "../contract/market/ticker-series.ts";
import { FEATURE_NAMES, featuresOf, rank, relativeToMean } from "./features.ts";

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values: readonly number[], ddof: number) =>
  values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - ddof);
const returnsOf = (window: readonly number[]) =>
  window.slice(1).map((price, i) => Math.log(price) - Math.log(window[i]!));
const deviation = (window: readonly number[]) => Math.sqrt(variance(returnsOf(window), 1));

/** The slow, obvious twins: a feature at the end of a window of as many prices as it needs. */
const TWINS: Record<string, readonly [prices: number, twin: (window: number[]) => number]> = {
  vol_ratio_10_63: [64, (w) => deviation(w.slice(-11)) / deviation(w)],
  rsi_14: [
    15,
    (w) => {
      const changes = w.slice(1).map((price, i) => price - w[i]!);
      const rise = mean(changes.map((change) => Math.max(change, 0)));
      const fall = mean(changes.map((change) => Math.max(-change, 0)));
      return 100 - 100 / (1 + rise / fall);
    },
  ],
  zscore_21: [21, (w) => (w.at(-1)! - mean(w)) / Math.sqrt(variance(w, 1))],
  drawdown_126: [126, (w) => Math.log(w.at(-1)!) - Math.log(Math.max(...w))],
  skew_63: [
    64,
    (w) => {
      const returns = returnsOf(w);
      return mean(returns.map((value) => (value - mean(returns)) ** 3)) / variance(returns, 0) ** 1.5;
    },
  ],
  max_21: [22, (w) => Math.max(...returnsOf(w))],
};
for (const h of [1, 2, 3, 5, 10, 21, 63, 126])
  TWINS[`mom_${h}`] = [h + 1, (w) => Math.log(w.at(-1)!) - Math.log(w[0]!)];
for (const w of [10, 21, 63]) TWINS[`vol_${w}`] = [w + 1, deviation];
for (const w of [10, 50, 100])
  TWINS[`sma_gap_${w}`] = [w, (window) => Math.log(window.at(-1)! / mean(window))];

function walk(seed: number, length: number): number[] {
  const random = seededRandom(seed);
  let price = 50;
  return Array.from({ length }, () => (price *= Math.exp(0.02 * random.normal())));
}

/** The columns of one ticker. */
function featuresOfOne(prices: readonly number[]): Map<string, Float64Array> {
  const days = Int32Array.from(prices.keys());
  const [{ values } = { values: new Float64Array() }] = featuresOf([
    { ticker: "A", days, prices: Float64Array.from(prices) },
  ]);
  const n = prices.length;
  return new Map(FEATURE_NAMES.map((name, c) => [name, values.subarray(c * n, (c + 1) * n)]));
}

const near = (a: number, b: number) => Object.is(a, b) || Math.abs(a - b) <= 1e-8 * (1 + Math.abs(b));

test("each feature of a ticker equals its slow twin, and is missing until its window is full", () => {
  const prices = walk(1, 170);
  const found = featuresOfOne(prices);
  const across = FEATURE_NAMES.filter((name) => /^(rel|rank)_|^weekday$/.test(name));
  assert.deepEqual([...Object.keys(TWINS), ...across].sort(), [...FEATURE_NAMES].sort());
  for (const [name, [needed, twin]] of Object.entries(TWINS)) {
    for (const [i, value] of found.get(name)!.entries()) {
      const expected = i < needed - 1 ? Number.NaN : twin(prices.slice(i - needed + 1, i + 1));
      assert.ok(near(value, expected), `${name} of row ${i}: ${value} is not ${expected}`);
    }
  }
  assert.deepEqual([...found.get("weekday")!.slice(0, 5)], [3, 4, 5, 6, 0]);
});

test("no feature of a ticker depends on its prices before the window, nor on their unit", () => {
  const prices = walk(2, 300);
  const whole = featuresOfOne(prices);
  const late = featuresOfOne(prices.slice(173));
  const scaled = featuresOfOne(prices.map((price) => price * 128));
  for (const name of Object.keys(TWINS)) {
    assert.equal(whole.get(name)!.at(-1), late.get(name)!.at(-1), name);
    for (const [i, value] of whole.get(name)!.entries()) assert.ok(near(scaled.get(name)![i]!, value), name);
  }
});

test("a constant price has features without a division by zero", () => {
  const expected: Record<string, number> = { vol_ratio_10_63: 1, rsi_14: 50 };
  for (const [name, column] of featuresOfOne(new Array<number>(130).fill(0.1)))
    if (name in TWINS) assert.ok(Math.abs(column.at(-1)! - (expected[name] ?? 0)) < 1e-12, name);
});

const section = fc
  .array(
    fc.oneof(
      fc.integer({ min: -3, max: 3 }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      fc.constant(Number.NaN),
    ),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  .map((values) => Float64Array.from(values));

test("a rank counts half for itself and each tie and one for each smaller value, and a distance to the mean ignores who has no value", () => {
  fc.assert(
    fc.property(section, (values) => {
      const present = [...values].filter((value) => !Number.isNaN(value));
      const [ranks, distances] = [rank(values), relativeToMean(values)];
      for (const [i, value] of values.entries()) {
        const below = present.filter((other) => other < value).length;
        const ties = present.filter((other) => other === value).length;
        const isMissing = Number.isNaN(value);
        assert.ok(near(ranks[i]!, isMissing ? Number.NaN : (below + ties / 2) / present.length));
        assert.ok(near(distances[i]!, isMissing ? Number.NaN : value - mean(present)));
      }
    }),
  );
});

/** Four random walks of up to 300 dates with gaps; the last one starts late. */
function randomMarket(seed: number): TickerPrices[] {
  const random = seededRandom(seed);
  return ["A", "B", "C", "D"].map((ticker, t) => {
    const days = Int32Array.from({ length: 300 }, (_, i) => i).filter(
      (i) => (t < 3 || i >= 200) && random.uniform() < 0.97,
    );
    return { ticker, days, prices: Float64Array.from(walk(seed + t, days.length)) };
  });
}

/** The market with other prices after a date, on which half of the tickers end. */
function withOtherFuture(market: readonly TickerPrices[], last: number, seed: number): TickerPrices[] {
  const random = seededRandom(seed);
  return market.flatMap(({ ticker, days, prices }) => {
    const ends = random.uniform() < 0.5;
    const isKept = (_: unknown, i: number) => !ends || days[i]! <= last;
    const changed = prices.map((price, i) => (days[i]! > last ? price * (0.5 + random.uniform()) : price));
    const own = { ticker, days: days.filter(isKept), prices: changed.filter(isKept) };
    return own.days.length === 0 ? [] : [own];
  });
}

test("no feature of a date depends on a later price, of its ticker or of another one", () => {
  const seeds = fc.integer({ min: 1, max: 1e6 });
  fc.assert(
    fc.property(seeds, seeds, fc.integer({ min: 0, max: 299 }), (seed, other, last) => {
      const market = randomMarket(seed);
      const changed = [...featuresOf(withOtherFuture(market, last, other))];
      for (const { ticker, days, values } of featuresOf(market)) {
        const after = changed.find((one) => one.ticker === ticker);
        const n = days.filter((day) => day <= last).length;
        for (const [c, name] of FEATURE_NAMES.entries()) {
          const before = values.subarray(c * days.length, c * days.length + n);
          const at = c * (after?.days.length ?? 0);
          const then = after?.values.slice(at, at + n) ?? new Float64Array(0);
          assert.deepEqual(then, before, `${name} of ${ticker}`);
        }
      }
    }),
    { numRuns: 50 },
  );
});
