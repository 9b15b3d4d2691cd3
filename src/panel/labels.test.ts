import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import { labelPrices, NO_LABEL_DAY, recentVolatility } from "./labels.ts";
import { priceDates } from "./price-dates.ts";
import { joinRows } from "./rows.ts";

/** The worked example of docs/semantics.md. */
const EXAMPLE = [
  ["2024-03-04", 100],
  ["2024-03-05", 102],
  ["2024-03-06", 0],
  ["2024-03-07", 101],
  ["2024-03-08", Number.NaN],
  ["2024-03-11", 103],
  ["2024-03-25", 99],
  ["2024-03-26", 100],
] as const;

const PRICES = {
  ticker: "AAA",
  days: Int32Array.from(EXAMPLE, ([date]) => parseDay(date)!),
  prices: Float64Array.from(EXAMPLE, ([, price]) => price),
};
const WINDOW = { start: parseDay("2024-03-01")!, end: parseDay("2024-03-31")! };

test("the worked example of the docs has the labels that it shows", () => {
  const priced = priceDates(PRICES, WINDOW);
  assert.equal(priced.nonpositive, 1);
  const { y, labelDays, longGaps } = labelPrices(priced.days, priced.prices);
  assert.equal(longGaps, 1);
  const shown = Array.from(priced.days, (day, i) => [
    formatDay(day),
    labelDays[i] === NO_LABEL_DAY ? "-" : formatDay(labelDays[i]!),
    Number.isNaN(y[i]) ? "-" : y[i]!.toFixed(6),
  ]);
  assert.deepEqual(shown, [
    ["2024-03-04", "2024-03-05", "0.019803"],
    ["2024-03-05", "2024-03-07", "-0.009852"],
    ["2024-03-07", "2024-03-11", "0.019608"],
    ["2024-03-11", "-", "-"],
    ["2024-03-25", "2024-03-26", "0.010050"],
    ["2024-03-26", "-", "-"],
  ]);
});

test("matches rows by date and never shifts them", () => {
  const { price, feature } = joinRows(Int32Array.of(1, 3, 5, 7, 9), Int32Array.of(0, 3, 4, 5, 9, 11));
  assert.deepEqual([...price], [1, 2, 4]);
  assert.deepEqual([...feature], [1, 3, 4]);
  assert.deepEqual(joinRows(Int32Array.of(), Int32Array.of(1)).price, new Int32Array());
});

/** The deviation of the last 20 returns before price date i, written out. */
function volatilityAt(y: readonly number[], i: number): number {
  const known = y.slice(0, i).filter((value) => !Number.isNaN(value));
  const last = known.slice(-20);
  if (last.length < 20) return Number.NaN;
  if (new Set(last).size === 1) return 0;
  const mean = last.reduce((sum, value) => sum + value, 0) / 20;
  return Math.sqrt(last.reduce((sum, value) => sum + (value - mean) * (value - mean), 0) / 20);
}

test("the volatility at a date comes from the last 20 returns known at its close", () => {
  const label = fc.oneof(
    { weight: 4, arbitrary: fc.double({ min: -1, max: 1, noNaN: true }) },
    fc.constant(Number.NaN),
  );
  const property = fc.property(fc.array(label, { maxLength: 80 }), (y) => {
    const expected = y.map((_, i) => volatilityAt(y, i));
    assert.deepEqual([...recentVolatility(Float64Array.from(y))], expected);
  });
  fc.assert(property);
});

test("equal returns have a volatility of 0, and not of their rounding", () => {
  for (const value of [0.01, 1 / 300, -0.007]) {
    const volatility = recentVolatility(new Float64Array(40).fill(value));
    assert.deepEqual([...volatility.subarray(20)], new Array(20).fill(0));
  }
});

test("long gaps between prices take no longer than short ones: a search back from each date would take minutes here", () => {
  const y = new Float64Array(300_000).fill(Number.NaN);
  y.fill(0.25, 0, 19);
  assert.ok(recentVolatility(y).every(Number.isNaN));
  y[19] = 0.25;
  assert.deepEqual([...recentVolatility(y).subarray(19, 22)], [Number.NaN, 0, 0]);
});
