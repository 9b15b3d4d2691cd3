import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import {
  fitSpans,
  labelPrices,
  latestSpan,
  medianSpan,
  NO_LABEL_DAY,
  pooledSpans,
  priceSpacing,
  recentVolatility,
} from "./labels.ts";
import { priceDates } from "./price-dates.ts";

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

/** Rows whose next prices are this many days later; the last one has none. */
function rowsOf(spans: readonly number[]) {
  const days = new Int32Array(spans.length + 1);
  for (const [i, span] of spans.entries()) days[i + 1] = days[i]! + span;
  return { spacing: priceSpacing(days), fit: Int32Array.from(spans.keys()) };
}

const SPANS = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 40 });

test("the median span of all rows equals that of the sorted spans", () => {
  const property = fc.property(fc.array(SPANS, { minLength: 1, maxLength: 4 }), (tickers) => {
    const sorted = tickers.flat().sort((a, b) => a - b);
    const middle = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!];
    const pooled = pooledSpans(tickers.map((spans) => fitSpans(rowsOf(spans))));
    assert.equal(medianSpan(pooled), (middle[0]! + middle[1]!) / 2);
  });
  fc.assert(property);
});

const latestOf = (spans: readonly number[]) => latestSpan(rowsOf(spans));

test("the latest span is the median of the last eleven rows before the last one, whatever came earlier", () => {
  const property = fc.property(SPANS, SPANS, (early, late) => {
    const last = [...early, ...late].slice(-11).sort((a, b) => a - b);
    assert.equal(latestOf([...early, ...late]), last[(last.length - 1) >> 1]);
  });
  fc.assert(property);
});
