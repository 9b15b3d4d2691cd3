import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { type TickerPair, tickerPairs } from "./ticker-pairs.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const workFolder = mkdtempSync(join(tmpdir(), "mucast-pairs-"));
after(() => rmSync(workFolder, { recursive: true }));

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
  return all(tickerPairs(stream(previous, 1), stream(current, 2), workFolder));
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
  await assert.rejects(all(tickerPairs(broken(), other(), workFolder)), /cut short/);
  assert.ok(isClosed);
  assert.deepEqual(readdirSync(workFolder), []);
});

/**
 * Bytes of arrays that are still in use: garbage does not count. V8 frees the memory of collected arrays on another thread, which the next
 * collection waits for.
 */
function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

test("tickers in opposite orders wait on disk: both blobs together exceed the memory limit", async () => {
  const TICKERS = 300;
  const VALUES = 50_000;
  const days = Int32Array.from({ length: VALUES }, (_, day) => day);
  async function* made(side: number, numbers: readonly number[]) {
    for (const i of numbers) {
      const values = new Float64Array(VALUES).fill(side * i);
      yield {
        ticker: `T${i}`,
        days: days.slice(),
        columns: ["x"],
        values,
      };
    }
  }
  const order = Array.from({ length: TICKERS }, (_, i) => i);
  const before = heldBytes();
  let [peak, count] = [0, 0];
  for await (const { previous, current } of tickerPairs(
    made(1, order),
    made(2, order.toReversed()),
    workFolder,
  )) {
    if (count % 10 === 0) peak = Math.max(peak, heldBytes());
    assert.equal(previous!.ticker, current!.ticker);
    assert.equal(2 * previous!.values[VALUES - 1]!, current!.values[VALUES - 1]!);
    count++;
  }
  assert.equal(count, TICKERS);
  // Values and days of both are 360 MB, half of which wait; 64 MiB of them stay in memory, beside the buffers of the files.
  const held = (peak - before) / 2 ** 20;
  assert.ok(held < 110, `${Math.round(held)} MiB are held`);
  assert.deepEqual(readdirSync(workFolder), []);
});
