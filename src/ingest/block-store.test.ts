import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, test } from "node:test";
import fc from "fast-check";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { BlockStore, SeriesStore } from "./block-store.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-store-"));
after(() => rm(workFolder, { recursive: true }));

describe("the block store", () => {
  it("returns any part of any block, in memory and on disk, and leaves no file", async () => {
    const blocks = fc.array(fc.float64Array({ maxLength: 20 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(blocks, fc.nat({ max: 100 }), fc.nat(), async (given, inMemory, at) => {
        const store = new BlockStore(workFolder, inMemory);
        const places = given.map((values) => store.append(values));
        given.forEach((values, i) => {
          const from = values.length === 0 ? 0 : at % values.length;
          const part = new Float64Array(values.length - from);
          store.read(places[i]!, from, part);
          assert.deepEqual(part, values.subarray(from));
        });
        assert.deepEqual(await readdir(workFolder), []);
        store.close();
      }),
    );
  });

  it("keeps a copy, which later changes do not affect", () => {
    const store = new BlockStore(workFolder);
    const values = Float64Array.of(1, 2);
    const span = store.append(values);
    values[0] = 9;
    const back = new Float64Array(2);
    store.read(span, 0, back);
    assert.deepEqual(back, Float64Array.of(1, 2));
  });

  it("throws output_failed if it cannot write", () => {
    const store = new BlockStore(join(workFolder, "absent"), 0);
    assert.throws(() => store.append(Float64Array.of(1)), {
      code: "output_failed",
      message:
        "the work folder of the job cannot be written: it does not exist (ENOENT); TMPDIR names another place",
    });
  });
});

const workFolderOfSeriesStore = await mkdtemp(join(tmpdir(), "mucast-series-"));
after(() => rm(workFolderOfSeriesStore, { recursive: true }));

/** Series of any shape, with values of any kind. */
const series: fc.Arbitrary<TickerSeries> = fc
  .record({
    ticker: fc.constantFrom("A", "B", "C", "", "__proto__", "constructor"),
    columns: fc.uniqueArray(fc.string({ maxLength: 2 }), { maxLength: 3 }),
    days: fc.int32Array({ maxLength: 4 }),
  })
  .chain(({ columns, days, ticker }) => {
    const length = columns.length * days.length;
    return fc
      .float64Array({ minLength: length, maxLength: length })
      .map((values) => ({ ticker, columns, days, values }));
  });

test("returns each series once and unchanged, in memory and on disk, beside the series of another store", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(series), fc.nat({ max: 30 }), async (given, inMemory) => {
      const blocks = new BlockStore(workFolderOfSeriesStore, inMemory);
      const [store, other] = [new SeriesStore(blocks), new SeriesStore(blocks)];
      const last = new Map<string, TickerSeries>();
      for (const one of given) {
        store.add(one);
        other.add({ ...one, values: one.values.map((value) => -value) });
        last.delete(one.ticker);
        last.set(one.ticker, one);
      }
      assert.deepEqual(new Set(store.tickers()), new Set(last.keys()));
      for (const [ticker, one] of last) {
        assert.deepEqual(store.take(ticker), one);
        assert.equal(store.take(ticker), undefined);
      }
      assert.deepEqual(store.tickers(), []);
      assert.equal(other.tickers().length, last.size);
      assert.equal(store.take("never came"), undefined);
      blocks.close();
      assert.deepEqual(await readdir(workFolderOfSeriesStore), []);
    }),
  );
});

test("keeps the order of tickers, and ignores later changes of added series", () => {
  const blocks = new BlockStore(workFolderOfSeriesStore);
  const store = new SeriesStore(blocks);
  const columns = ["x"];
  const [days, values] = [Int32Array.of(1), Float64Array.of(2)];
  for (const ticker of ["C", "A", "B"]) store.add({ ticker, columns, days, values });
  [days[0], values[0], columns[0]] = [9, 9, "y"];
  assert.deepEqual(store.tickers(), ["C", "A", "B"]);
  const expected = { ticker: "A", columns: ["x"], days: Int32Array.of(1), values: Float64Array.of(2) };
  assert.deepEqual(store.take("A"), expected);
  assert.deepEqual(store.tickers(), ["C", "B"]);
  blocks.close();
});
