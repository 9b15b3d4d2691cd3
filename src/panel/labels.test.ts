import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import { labelPrices, NO_LABEL_DAY } from "./labels.ts";
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

test("the worked example of the docs has the labels it shows", () => {
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

test("rows are met by date and never shifted", () => {
  const { price, feature } = joinRows(Int32Array.of(1, 3, 5, 7, 9), Int32Array.of(0, 3, 4, 5, 9, 11));
  assert.deepEqual([...price], [1, 2, 4]);
  assert.deepEqual([...feature], [1, 3, 4]);
  assert.deepEqual(joinRows(Int32Array.of(), Int32Array.of(1)).price, new Int32Array());
});
