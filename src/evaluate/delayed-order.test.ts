import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import type { DelayedOrder } from "../contract/output/metrics-schemas.ts";
import { delayedOrders } from "./delayed-order.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { meanT } from "./mean-test.ts";
import { average, slowCorrelation, slowRanks } from "./statistics.testing.ts";

/** Rows of tickers that lack some dates and labels; forecasts and returns are rounded, so that some are equal. */
function marketRows(seed: number, tickers: number, dates = 90): ForecastRows[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const days = Array.from({ length: dates }, (_, d) => 17_000 + d + (d > 40 ? 3 : 0)).filter(
      () => random.uniform() < 0.9,
    );
    const rounded = () => Float64Array.from(days, () => Math.round(4 * random.normal()) / 1_000);
    const realised = rounded().map((y) => (random.uniform() < 0.05 ? Number.NaN : y));
    return {
      ticker: `T${t}`,
      days: Int32Array.from(days),
      predicted: rounded(),
      realised,
      trainingMean: new Float64Array(days.length),
      labelDeviation: 0.01,
    };
  });
}

/** The same figures from a list of dates, each a Map from ticker to forecast and label. */
function slowOrders(rows: readonly ForecastRows[], delay: number): DelayedOrder[] {
  const days = [...new Set(rows.flatMap((row) => [...row.days]))].sort((a, b) => a - b);
  const at = (day: number) =>
    rows.flatMap(({ ticker, ...row }) => {
      const i = row.days.indexOf(day);
      return i < 0 ? [] : [{ ticker, p: row.predicted[i]!, y: row.realised[i]! }];
    });
  const dates = days.map((day) => at(day));
  const fifthOf = (date: (typeof dates)[number], ticker: string) => {
    const p = date.find((row) => row.ticker === ticker)?.p;
    if (p === undefined) return undefined;
    const lower = date.filter((row) => row.p < p).length;
    const equal = date.filter((row) => row.p === p).length;
    return Math.floor((5 * (lower + (equal + 1) / 2 - 0.5)) / date.length);
  };
  const end = (date: (typeof dates)[number], fifth: number) =>
    date.filter(({ ticker }) => fifthOf(date, ticker) === fifth).map(({ ticker }) => ticker);
  const isSorted = (date: (typeof dates)[number]) =>
    date.length >= 5 && end(date, 0).length > 0 && end(date, 4).length > 0;
  return [0, 1, 2].map((step) => {
    const found = dates.flatMap((date, d) => {
      const before = dates[d - 1];
      if (before === undefined || !isSorted(before) || !isSorted(date)) return [];
      const label = (ticker: string) =>
        dates[d + step]?.find((row) => row.ticker === ticker)?.y ?? Number.NaN;
      const pairs = date
        .map(({ ticker, p }) => ({ ticker, p, y: label(ticker) }))
        .filter(({ y }) => !Number.isNaN(y));
      const [p, y] = [pairs.map((pair) => pair.p), pairs.map((pair) => pair.y)];
      if (pairs.length < 5 || new Set(p).size < 2 || new Set(y).size < 2) return [];
      const [bottom, top] = [0, 4].map((fifth) => {
        const own = end(date, fifth);
        const returns = pairs
          .filter(({ ticker }) => own.includes(ticker))
          .map((pair) => Math.exp(pair.y) - 1);
        const held = own.filter((ticker) => fifthOf(before, ticker) !== undefined);
        const fresh = held.filter((ticker) => fifthOf(before, ticker) !== fifth);
        return { mean: average(returns), replaced: fresh.length / held.length };
      });
      const values = [top!.mean, bottom!.mean, top!.replaced, bottom!.replaced];
      if (values.some(Number.isNaN)) return [];
      const spread = 10_000 * (top!.mean - bottom!.mean);
      const traded = 2 * (top!.replaced + bottom!.replaced);
      return [
        {
          ic: slowCorrelation(p, y),
          rank: slowCorrelation(slowRanks(p), slowRanks(y)),
          spread,
          turnover: (top!.replaced + bottom!.replaced) / 2,
          nets: [1, 5, 10].map((cost) => spread - cost * traded),
        },
      ];
    });
    const t = (values: number[]) => meanT(Float64Array.from(values));
    return {
      delay: delay + step,
      dates: found.length,
      ic_mean: average(found.map(({ ic }) => ic)),
      ic_t: t(found.map(({ ic }) => ic)),
      rank_ic_mean: average(found.map(({ rank }) => rank)),
      rank_ic_t: t(found.map(({ rank }) => rank)),
      spread_mean: average(found.map(({ spread }) => spread)),
      spread_t: t(found.map(({ spread }) => spread)),
      turnover: average(found.map(({ turnover }) => turnover)),
      net_1bp: average(found.map(({ nets }) => nets[0]!)),
      net_5bp: average(found.map(({ nets }) => nets[1]!)),
      net_5bp_t: t(found.map(({ nets }) => nets[1]!)),
      net_10bp: average(found.map(({ nets }) => nets[2]!)),
    };
  });
}

function assertNear(actual: object, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const found = (actual as Record<string, number>)[name]!;
    assert.ok(
      Math.abs(found - value) <= 1e-9 * Math.max(1, Math.abs(value)),
      `${name}: ${found}, not ${value}`,
    );
  }
}

const ordersOf = (rows: readonly ForecastRows[], delay = 0) => delayedOrders(rows, delay);

test("all figures equal those of a plain loop over dates, with holes, ties and missing labels", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const rows = marketRows(seed, 5 + (seed % 7));
    const found = ordersOf(rows, 2);
    for (const [step, slow] of slowOrders(rows, 2).entries()) {
      assert.ok(slow.dates > 5, `${slow.dates} dates count`);
      assertNear(found[step]!, slow);
      assert.deepEqual(Object.keys(found[step]!), Object.keys(slow));
    }
  }
});

test("with four tickers, the order over time takes the place of all figures across tickers", () => {
  const rows = marketRows(2, 4);
  const [same, later] = ordersOf(rows);
  for (const entry of [same!, later!]) {
    assert.deepEqual(
      [entry.ic_mean, entry.spread_mean, entry.turnover, entry.net_5bp],
      [null, null, null, null],
    );
    assert.ok(entry.dates > 60 && entry.order_mean !== null && entry.order_t !== null);
  }
  assert.notEqual(same!.order_mean, later!.order_mean);
});
