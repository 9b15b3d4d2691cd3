import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { HistoryComparison, type TickerPair } from "./history-comparison.ts";
import { pairTickers } from "./restatement.ts";

function series(ticker: string, days: readonly number[]): TickerSeries {
  return { ticker, days: Int32Array.from(days), columns: [], values: new Float64Array(0) };
}

const days = fc
  .uniqueArray(fc.integer({ min: -50, max: 50 }), { maxLength: 30 })
  .map((all) => all.sort((a, b) => a - b));

test("rows that tickers lost and gained are counted within the days that both blobs cover", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(days, days), { minLength: 1, maxLength: 4 }), (tickers) => {
      const comparison = new HistoryComparison();
      for (const [i, [previous, current]] of tickers.entries())
        comparison.add({ previous: series(`T${i}`, previous), current: series(`T${i}`, current) });
      const before = tickers.flatMap(([previous]) => previous);
      const after = tickers.flatMap(([, current]) => current);
      const first = Math.max(Math.min(...before), Math.min(...after));
      const last = Math.min(Math.max(...before), Math.max(...after));
      const only = (a: number[], b: number[]) =>
        a.filter((day) => !b.includes(day) && day >= first && day <= last);
      for (const [kind, twin] of [
        ["lost", tickers.map(([previous, current]) => only(previous, current))],
        ["added", tickers.map(([previous, current]) => only(current, previous))],
      ] as const) {
        const found = comparison.rows(kind);
        assert.equal(found.rows, twin.flat().length);
        assert.deepEqual(
          found.tickers,
          twin.flatMap((rows, i) => (rows.length > 0 ? [`T${i}`] : [])),
        );
        assert.deepEqual(found.days, new Set(twin.flat()));
      }
    }),
  );
});

test("rows are late if each is behind its ticker's last one, near the earlier blob's end", () => {
  type Days = readonly (readonly [previous: readonly number[], current: readonly number[]])[];
  const isLate = (...tickers: Days) => {
    const comparison = new HistoryComparison();
    for (const [i, [previous, current]] of tickers.entries())
      comparison.add({ previous: series(`T${i}`, previous), current: series(`T${i}`, current) });
    return comparison.rows("added").isLate;
  };
  // biome-ignore format: a ticker a line
  const [usual, late, between, early] = [
    [[1, 30], [1, 30, 31]],
    [[1, 28], [1, 28, 29, 30, 31]],
    [[1, 30], [1, 29, 30, 31]],
    [[1], [1, 3, 30]],
  ] as const;
  const found = [isLate(usual, late), isLate(usual, late, between), isLate(usual, late, early)];
  assert.deepEqual(found, [true, false, false]);
});

const names = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 12 });

test("two feature blobs give every ticker once, with its other half if there is one, in any order", async () => {
  async function* stream(tickers: readonly string[], day: number) {
    for (const ticker of tickers) yield series(ticker, [day]);
  }
  await fc.assert(
    fc.asyncProperty(names, names, async (previous, current) => {
      const pairs = new Map<string, TickerPair>();
      for await (const pair of pairTickers(stream(previous, 1), stream(current, 2))) {
        const { ticker } = (pair.previous ?? pair.current)!;
        assert.ok(!pairs.has(ticker));
        pairs.set(ticker, pair);
      }
      const expected = [...new Set([...previous, ...current])].map((ticker): [string, TickerPair] => [
        ticker,
        {
          ...(previous.includes(ticker) ? { previous: series(ticker, [1]) } : {}),
          ...(current.includes(ticker) ? { current: series(ticker, [2]) } : {}),
        },
      ]);
      assert.deepEqual(pairs, new Map(expected));
    }),
  );
});
