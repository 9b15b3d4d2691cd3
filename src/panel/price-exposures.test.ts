import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import type { TickerPrices } from "../contract/market/ticker-series.ts";
import { exposuresFrom, marketReturns } from "./price-exposures.ts";

const START = 17_000;
const END = START + 900;
const WINDOW = { start: START, end: END };

/** Prices that move with a common factor, with holes, a long gap and a price of 0. */
function somePrices(seed: number, tickers = 4): TickerPrices[] {
  const random = seededRandom(seed);
  const common = Array.from({ length: 900 }, () => random.normal() / 100);
  return Array.from({ length: tickers }, (_, t) => {
    let price = 100;
    const rows = common.flatMap((move, d) => {
      price *= Math.exp((0.5 + t / 2) * move + random.normal() / 100);
      if (t === 1 && d > 400 && d < 420) return [];
      return random.uniform() < 0.05 ? [] : [{ day: START + d, price: d === 500 ? 0 : price }];
    });
    return {
      ticker: `T${t}`,
      days: Int32Array.from(rows, ({ day }) => day),
      prices: Float64Array.from(rows, (row) => row.price),
    };
  });
}

test("no exposure of a date depends on a later price of any ticker", () => {
  const all = somePrices(5);
  const cut = START + 600;
  const changed = all.map((ticker) => ({
    ...ticker,
    prices: ticker.prices.map((price, i) => (ticker.days[i]! > cut ? 3 * price + i : price)),
  }));
  const of = (prices: readonly TickerPrices[]) => {
    const market = marketReturns(prices, WINDOW);
    return prices.map((ticker) => {
      const { days, values } = exposuresFrom(START + 300, ticker, WINDOW, market);
      return [...values.subarray(0, 5 * days.filter((day) => day <= cut).length)];
    });
  };
  assert.deepEqual(of(changed), of(all));
  assert.ok(of(all)[0]!.length > 1_000);
});
