import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  averageGap,
  drawdown,
  largestReturn,
  momentum,
  type PriceFeature,
  relativeStrength,
  skewness,
  volatility,
  volatilityRatio,
  zScore,
} from "./price-features.ts";

const NONE = Number.NaN;
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values: number[], ddof: number) =>
  values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - ddof);
const returnsOf = (window: number[]) =>
  window.slice(1).map((price, i) => Math.log(price) - Math.log(window[i]!));

/** The slow, obvious twin of each feature: its value at the end of a window of exactly the prices it needs. */
const TWINS: { name: string; feature: PriceFeature; prices: number; twin: (window: number[]) => number }[] = [
  { name: "momentum", feature: momentum(5), prices: 6, twin: (w) => Math.log(w.at(-1)!) - Math.log(w[0]!) },
  {
    name: "volatility",
    feature: volatility(7),
    prices: 8,
    twin: (w) => Math.sqrt(variance(returnsOf(w), 1)),
  },
  {
    name: "volatility ratio",
    feature: volatilityRatio(3, 8),
    prices: 9,
    twin: (w) => Math.sqrt(variance(returnsOf(w).slice(-3), 1) / variance(returnsOf(w), 1)),
  },
  {
    name: "average gap",
    feature: averageGap(6),
    prices: 6,
    twin: (w) => Math.log(w.at(-1)!) - Math.log(mean(w)),
  },
  {
    name: "relative strength",
    feature: relativeStrength(6),
    prices: 7,
    twin: (w) => {
      const changes = w.slice(1).map((price, i) => price - w[i]!);
      const rise = mean(changes.map((change) => Math.max(change, 0)));
      const fall = mean(changes.map((change) => Math.max(-change, 0)));
      return 100 - 100 / (1 + rise / fall);
    },
  },
  {
    name: "z-score",
    feature: zScore(6),
    prices: 6,
    twin: (w) => (w.at(-1)! - mean(w)) / Math.sqrt(variance(w, 1)),
  },
  {
    name: "drawdown",
    feature: drawdown(6),
    prices: 6,
    twin: (w) => Math.log(w.at(-1)!) - Math.log(Math.max(...w)),
  },
  {
    name: "skewness",
    feature: skewness(9),
    prices: 10,
    twin: (w) => {
      const returns = returnsOf(w);
      return mean(returns.map((value) => (value - mean(returns)) ** 3)) / variance(returns, 0) ** 1.5;
    },
  },
  { name: "largest return", feature: largestReturn(4), prices: 5, twin: (w) => Math.max(...returnsOf(w)) },
];

/** Prices of a random walk with steps between 0.1 % and 20 %, so that no window is nearly flat. */
const walk = fc
  .array(fc.tuple(fc.boolean(), fc.double({ min: 0.001, max: 0.2, noNaN: true })), {
    minLength: 1,
    maxLength: 40,
  })
  .map((steps) => {
    let price = 50;
    return steps.map(([up, step]) => (price *= Math.exp(up ? step : -step)));
  });

for (const { name, feature, prices: needed, twin } of TWINS) {
  test(`${name} equals its slow twin and is missing until its window is full`, () => {
    fc.assert(
      fc.property(walk, (prices) => {
        const values = feature(Float64Array.from(prices));
        assert.equal(values.length, prices.length);
        for (const i of prices.keys()) {
          const full = i >= needed - 1;
          const expected = full ? twin(prices.slice(i - needed + 1, i + 1)) : Number.NaN;
          const near = Math.abs(values[i]! - expected) <= 1e-8 * (1 + Math.abs(expected));
          assert.ok(full ? near : Number.isNaN(values[i]), `${values[i]} is not ${expected}`);
        }
      }),
    );
  });

  test(`${name} at a date has the same bits whatever comes after it or before its window`, () => {
    fc.assert(
      fc.property(walk, walk, walk, (before, window, after) => {
        const i = before.length + window.length - 1;
        const whole = feature(Float64Array.from([...before, ...window, ...after]));
        const upToDate = feature(Float64Array.from([...before, ...window]));
        assert.equal(whole[i], upToDate[i]);
        if (window.length < needed) return;
        assert.equal(whole[i], feature(Float64Array.from(window)).at(-1));
      }),
    );
  });

  test(`${name} does not depend on the unit of the price`, () => {
    fc.assert(
      fc.property(walk, (prices) => {
        const values = feature(Float64Array.from(prices));
        const scaled = feature(Float64Array.from(prices, (price) => price * 128));
        values.forEach((value, i) => {
          const near = Math.abs(value - scaled[i]!) <= 1e-9 * (1 + Math.abs(value));
          assert.ok(near || (Number.isNaN(value) && Number.isNaN(scaled[i])));
        });
      }),
    );
  });
}

test("a constant price has features without a division by zero", () => {
  const flat = new Float64Array(12).fill(0.1);
  const expected: Record<string, number> = { "volatility ratio": 1, "relative strength": 50 };
  for (const { name, feature } of TWINS) {
    const last = feature(flat).at(-1)!;
    assert.ok(Math.abs(last - (expected[name] ?? 0)) < 1e-12, `${name} is ${last}`);
  }
});

test("matches values computed by hand", () => {
  const prices = Float64Array.of(100, 110, 99, 99);
  const close = (actual: Float64Array, expected: number[]) => {
    assert.equal(actual.length, expected.length);
    expected.forEach((value, i) => {
      assert.ok(
        Object.is(value, actual[i]) || Math.abs(actual[i]! - value) < 1e-12,
        `${actual} is not ${expected}`,
      );
    });
  };
  close(momentum(2)(prices), [NONE, NONE, Math.log(0.99), Math.log(0.9)]);
  close(relativeStrength(3)(prices), [NONE, NONE, NONE, (100 * 10) / 21]);
  close(drawdown(3)(prices), [NONE, NONE, Math.log(0.9), Math.log(0.9)]);
  close(averageGap(2)(prices), [NONE, Math.log(110 / 105), Math.log(99 / 104.5), 0]);
  close(largestReturn(2)(prices), [NONE, NONE, Math.log(1.1), 0]);
  close(zScore(3)(prices), [NONE, NONE, -4 / Math.sqrt(37), -11 / 3 / Math.sqrt(121 / 3)]);
});
