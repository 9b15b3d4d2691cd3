import assert from "node:assert/strict";
import { test } from "node:test";
import type { TickerPrices } from "../contract/market/ticker-series.ts";
import { resolveWindow } from "./window.ts";

const SOURCE = "data_extractor_1.json";

function ticker(name: string, from: number, prices: readonly number[]): TickerPrices {
  return {
    ticker: name,
    days: Int32Array.from(prices, (_, i) => from + i),
    prices: Float64Array.from(prices),
  };
}

const PRICES = [
  ticker("B", 102, [0, 5, 6, Number.NaN]),
  ticker("A", 101, [Number.NaN, 1, 2]),
  ticker("EMPTY", 90, [Number.NaN, -1]),
];

test("replaces a missing bound by the first or last price date of any ticker, and warns about each", () => {
  const { window, warnings } = resolveWindow({}, PRICES, SOURCE);
  assert.deepEqual(window, { start: 102, end: 104, cut: 104 });
  assert.deepEqual(
    warnings.map((warning) => warning.code),
    ["window_defaulted", "window_defaulted"],
  );
  assert.match(warnings[0]!.message, /no start; the first price date of any ticker, 1970-04-13/);
  assert.match(warnings[1]!.message, /no end; the last price date of any ticker, 1970-04-15/);
});

test("Learning_end is the cut and may be either end of the window", () => {
  for (const learningEnd of [100, 103, 110]) {
    const { window } = resolveWindow({ start: 100, end: 110, learningEnd }, PRICES, SOURCE);
    assert.deepEqual(window, { start: 100, end: 110, learningEnd, cut: learningEnd });
  }
});

test("refuses a Learning_end outside the window, even if the window was filled in", () => {
  const outside = { code: "invalid_data", message: /Learning_end .* outside the window/ };
  assert.throws(() => resolveWindow({ start: 100, end: 110, learningEnd: 99 }, PRICES, SOURCE), outside);
  assert.throws(() => resolveWindow({ start: 100, end: 110, learningEnd: 111 }, PRICES, SOURCE), outside);
  assert.throws(() => resolveWindow({ learningEnd: 105 }, PRICES, SOURCE), outside);
});

test("refuses a window that starts after its end, with both dates", () => {
  assert.throws(() => resolveWindow({ start: 2, end: 1 }, PRICES, SOURCE), {
    code: "invalid_data",
    message: "data_extractor_1.json: the window starts on 1970-01-03, after its end 1970-01-02",
  });
});

test("a missing bound that no price can replace fails as insufficient_history", () => {
  const code = "insufficient_history";
  assert.throws(() => resolveWindow({ start: 1 }, [], SOURCE), {
    code,
    message: /no ticker has a price/,
  });
  assert.throws(() => resolveWindow({ end: 101 }, PRICES, SOURCE), {
    code,
    message: /no price date is/,
  });
  assert.throws(() => resolveWindow({ start: 105 }, PRICES, SOURCE), {
    code,
    message: /no price date is/,
  });
});
