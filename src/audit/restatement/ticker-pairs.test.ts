import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { type TickerPair, tickerPairs } from "./ticker-pairs.ts";

function ticker(name: string, side: number): TickerSeries {
  const columns = [`f${name.length}`, "g"];
  return {
    ticker: name,
    days: Int32Array.of(1, 2),
    columns,
    values: Float64Array.of(side, Number.NaN, name.length, -side),
  };
}

async function* stream(names: readonly string[], side: number) {
  for (const name of names) yield ticker(name, side);
}

async function all(pairs: AsyncIterable<TickerPair>): Promise<TickerPair[]> {
  const read: TickerPair[] = [];
  for await (const pair of pairs) read.push(pair);
  return read;
}

function pairsOf(previous: readonly string[], current: readonly string[]): Promise<TickerPair[]> {
  return all(tickerPairs(stream(previous, 1), stream(current, 2)));
}

const names = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 12 });

test("every ticker comes once, with its other half if there is one, in any order", async () => {
  await fc.assert(
    fc.asyncProperty(names, names, async (previous, current) => {
      const pairs = await pairsOf(previous, current);
      const found = pairs.map((pair) => (pair.previous ?? pair.current)!.ticker);
      assert.deepEqual(found.toSorted(), [...new Set([...previous, ...current])].sort());
      for (const pair of pairs) {
        const name = (pair.previous ?? pair.current)!.ticker;
        assert.deepEqual(pair, {
          ...(previous.includes(name) ? { previous: ticker(name, 1) } : {}),
          ...(current.includes(name) ? { current: ticker(name, 2) } : {}),
        });
      }
    }),
  );
});

test("a blob that breaks ends the pairing, and closes the other one", async () => {
  let isClosed = false;
  async function* other() {
    try {
      yield* stream(["a", "b", "c"], 2);
    } finally {
      isClosed = true;
    }
  }
  async function* broken() {
    yield ticker("a", 1);
    throw new Error("cut short");
  }
  await assert.rejects(all(tickerPairs(broken(), other())), /cut short/);
  assert.ok(isClosed);
});
