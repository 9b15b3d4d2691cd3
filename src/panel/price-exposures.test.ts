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

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The dates with a price, ascending, with the one-day return known there; undefined without one. */
function plainReturns({ days, prices }: TickerPrices) {
  const dates = [...days.keys()]
    .filter((i) => prices[i]! > 0)
    .map((i) => ({ day: days[i]!, price: prices[i]! }));
  return dates.map(({ day, price }, i) => {
    const before = dates[i - 1];
    const r = before === undefined || day - before.day > 10 ? undefined : Math.log(price / before.price);
    return { day, price, r };
  });
}

/** The exposures of the date at `place` of `plainReturns`. */
function slowExposures(all: readonly TickerPrices[], ticker: TickerPrices, place: number): number[] {
  const dates = plainReturns(ticker).slice(0, place + 1);
  const others = all.map(plainReturns);
  const marketOn = (day: number) =>
    average(others.flatMap((own) => own.find((date) => date.day === day)?.r ?? []));
  const known = dates.flatMap(({ day, r }) => (r === undefined ? [] : [{ day, r }]));
  const covariance = (a: readonly number[], b: readonly number[]) =>
    average(a.map((value, i) => (value - average(a)) * (b[i]! - average(b))));
  const last = (n: number) => (known.length < n ? undefined : known.slice(-n));
  const [year, quarter] = [last(252), last(63)?.map(({ r }) => r)];
  const market = year?.map(({ day }) => marketOn(day)) ?? [];
  const own = year?.map(({ r }) => r) ?? [];
  return [
    year === undefined ? Number.NaN : covariance(own, market) / covariance(market, market),
    quarter === undefined ? Number.NaN : Math.sqrt(covariance(quarter, quarter)),
    ...[5, 21, 252].map((n) => Math.log(dates.at(-1)!.price / (dates.at(-1 - n)?.price ?? Number.NaN))),
  ];
}

test("exposures equal those of a plain reading of the last returns, with holes, gaps and bad prices", () => {
  const all = somePrices(3);
  const market = marketReturns(all, WINDOW);
  for (const ticker of all) {
    const { days, values } = exposuresFrom(START, ticker, WINDOW, market);
    assert.deepEqual(
      [...days],
      plainReturns(ticker).map(({ day }) => day),
    );
    for (const place of [0, 5, 60, 70, 260, 300, 415, 430, 600, days.length - 1]) {
      const slow = slowExposures(all, ticker, place);
      for (const [c, value] of slow.entries()) {
        const found = values[place * 5 + c]!;
        assert.ok(
          Object.is(found, value) || Math.abs(found - value) < 1e-12,
          `${c} at ${place}: ${found}, ${value}`,
        );
      }
    }
  }
});

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
