import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { atOnce } from "../../contract/machine/pausable.ts";
import type { TickerPrices } from "../../contract/market/ticker-series.ts";
import { FEATURE_NAMES, featuresOf, rank, relativeToMean } from "./feature-set.ts";

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

function near(actual: Float64Array, expected: number[]): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(
      Object.is(actual[i], value) || Math.abs(actual[i]! - value) < 1e-12,
      `${actual} is not ${expected}`,
    );
  });
}

test("the distance to the mean counts only the tickers that have a value", () => {
  near(relativeToMean(Float64Array.of(1, Number.NaN, 3)), [-1, Number.NaN, 1]);
  near(relativeToMean(Float64Array.of(7)), [0]);
  near(relativeToMean(Float64Array.of(Number.NaN)), [Number.NaN]);
});

test("ranks lie between 0 and 1 with ties averaged", () => {
  near(rank(Float64Array.of(5, 1, Number.NaN, 5, 9)), [0.5, 0.125, Number.NaN, 0.5, 0.875]);
  near(rank(Float64Array.of(7)), [0.5]);
  near(rank(Float64Array.of(-0, 0)), [0.5, 0.5]);
});

test("a rank equals its slow twin: half a rank for itself and each tie, a whole one for each smaller value", () => {
  fc.assert(
    fc.property(section, (values) => {
      const present = [...values].filter((value) => !Number.isNaN(value));
      const twin = [...values].map((value) => {
        if (Number.isNaN(value)) return Number.NaN;
        const below = present.filter((other) => other < value).length;
        const ties = present.filter((other) => other === value).length;
        return (below + ties / 2) / present.length;
      });
      near(rank(values), twin);
    }),
  );
});

test("values relative to the mean have a mean of zero", () => {
  fc.assert(
    fc.property(section, (values) => {
      const sum = relativeToMean(values).reduce(
        (total, value) => total + (Number.isNaN(value) ? 0 : value),
        0,
      );
      return Math.abs(sum) < 1e-9;
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
    let price = 100;
    return {
      ticker,
      days,
      prices: Float64Array.from(days, () => (price *= Math.exp(0.02 * random.normal()))),
    };
  });
}

/** The market with other prices after a date, in which half of the tickers end on it. */
function withOtherFuture(market: readonly TickerPrices[], last: number, seed: number): TickerPrices[] {
  const random = seededRandom(seed);
  return market.flatMap(({ ticker, days, prices }) => {
    const ends = random.uniform() < 0.5;
    const kept = (_: unknown, i: number) => !ends || days[i]! <= last;
    const changed = prices.map((price, i) => (days[i]! > last ? price * (0.5 + random.uniform()) : price));
    const own = { ticker, days: days.filter(kept), prices: changed.filter(kept) };
    return own.days.length === 0 ? [] : [own];
  });
}

test("no feature of a date depends on a later price, of its ticker or of another one", () => {
  const seeds = fc.integer({ min: 1, max: 1e6 });
  fc.assert(
    fc.property(seeds, seeds, fc.integer({ min: 0, max: 299 }), (seed, other, last) => {
      const market = randomMarket(seed);
      const changed = [...atOnce(featuresOf(withOtherFuture(market, last, other)))];
      for (const { ticker, days, values } of atOnce(featuresOf(market))) {
        const after = changed.find((one) => one.ticker === ticker);
        const n = days.filter((day) => day <= last).length;
        for (const [c, name] of FEATURE_NAMES.entries()) {
          const before = values.subarray(c * days.length, c * days.length + n);
          const at = c * (after?.days.length ?? 0);
          assert.deepEqual(
            after?.values.slice(at, at + n) ?? new Float64Array(0),
            before,
            `${name} of ${ticker}`,
          );
        }
      }
    }),
    { numRuns: 50 },
  );
});
