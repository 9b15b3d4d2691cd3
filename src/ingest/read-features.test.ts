import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BlobLimits } from "../contract/blob-limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { MAX_COLUMNS } from "../contract/market/ticker-series.ts";
import { sourceOf } from "./chunks.testing.ts";
import { readFeatures } from "./read-blob.ts";

const D1 = "2020-01-02";
const D2 = "2020-01-03";
const E1 = Date.parse(D1);

/** Each ticker's columns. */
async function read(document: unknown, limits?: BlobLimits) {
  const found: Record<string, Record<string, readonly number[]>> = {};
  const text = typeof document === "string" ? document : JSON.stringify(document);
  const features = readFeatures(sourceOf([Buffer.from(text)]), { workFolder: "/nowhere", limits });
  for await (const { ticker, days, columns, values } of features) {
    const n = days.length;
    assert.equal(values.buffer.byteLength, values.byteLength, "memory for more than the values");
    const table = columns.map((name, j) => [name, [...values.subarray(j * n, (j + 1) * n)]] as const);
    found[ticker] = Object.fromEntries(table);
  }
  return found;
}

describe("a feature blob's values", () => {
  it("are numbers, null, or what Python writes for missing values", async () => {
    const cells = "1, null, NaN, Infinity, -Infinity, -0, 5e-324";
    const dates = Array.from({ length: 7 }, (_, i) => `"2020-01-0${i + 1}"`);
    assert.deepEqual(await read(`{"dates": [${dates}], "features": {"A": {"x": [${cells}]}}}`), {
      A: { x: [1, ...Array<number>(4).fill(Number.NaN), -0, 5e-324] },
    });
  });
});

describe("a feature blob", () => {
  it("may name its ticker again, but no other", async () => {
    const expected = { A: { x: [1] } };
    assert.deepEqual(await read({ A: { ticker: "A", Symbols: [2], dates: [D1] } }), { A: { Symbols: [2] } });
    assert.deepEqual(await read({ A: { ticker: ["A"], dates: [D1], x: [1] } }), expected);
    assert.deepEqual(await read({ A: { symbol: "A", x: { [D1]: 1 } } }), expected);
    assert.deepEqual(await read({ A: [{ x: 1, Ticker: "A", date: E1 }] }), expected);
  });

  it("may number its tickers", async () => {
    assert.deepEqual(await read([{ ticker: 7203, date: D1, x: 1 }]), { "7203": { x: [1] } });
    assert.deepEqual(await read({ "7203": { "0": { [D1]: 1 }, "600519": { [D1]: 2 } } }), {
      "7203": { "0": [1], "600519": [2] },
    });
  });

  it("may have columns called columns, index or data", async () => {
    const columns = { index: [2, 2], data: [3, 4], columns: [5, 6] };
    const { columns: _, ...two } = columns;
    assert.deepEqual(await read({ A: { dates: [D1, D2], ...two } }), { A: two });
  });

  it("has no window: keys with such names are skipped", async () => {
    const features = { A: { x: [1] } };
    const window = { start: "whenever", end: [7], window: { start: {} } };
    assert.deepEqual(await read({ ...window, dates: [D1], features }), features);
  });

  it("uses its own wrapper if prices are in the same file", async () => {
    const features = { A: { x: [1] } };
    const prices = { A: [27.3] };
    assert.deepEqual(await read({ dates: [D1], prices, features }), features);
    assert.deepEqual(await read({ features, prices, dates: [D1] }), features);
    assert.deepEqual(await read({ data: { dates: [D1], features, prices } }), features);
  });

  it("is refused beyond the columns or values of a ticker, even if few bytes mean them", async () => {
    const columns = Array.from({ length: MAX_COLUMNS + 1 }, (_, i) => `c${i}`);
    const days = Array.from({ length: Math.ceil(2 ** 27 / MAX_COLUMNS) + 3 }, (_, i) => formatDay(i));
    const byDay = Object.fromEntries(days.map((day) => [day, 1]));
    const row = Object.fromEntries(columns.slice(2).map((name) => [name, 1]));
    const all = (value: unknown) => Object.fromEntries(columns.map((name) => [name, value]));
    const tooWide = /has more than 10000 columns/;
    const tooLong = /has more than 134217728 values/;
    const sparse = Array.from({ length: 60_000 }, (_, i) => [`c${i}`, { [D1]: 1 }]);
    const { maxRSS } = process.resourceUsage();
    const refused = read({ A: { x: byDay, ...Object.fromEntries(sparse) } });
    await assert.rejects(refused, { code: "too_large", message: tooWide });
    assert.ok(process.resourceUsage().maxRSS - maxRSS < 2 ** 20, "it took more than 1 GiB");
    for (const [document, message] of [
      [{ A: { x: Array(2 ** 20).fill(1), ...all([]) } }, tooWide],
      [{ A: all({}) }, tooWide],
      [[{ ticker: "A", date: D1, ...row, x: 1, y: 2 }], tooWide],
      [{ A: { ...Object.fromEntries(columns.slice(1).map((name) => [name, {}])), c1: byDay } }, tooLong],
      [{ A: [...days.map((date) => ({ date })), { date: "2100-01-01", ...row }] }, tooLong],
    ] as const)
      await assert.rejects(read(document), { code: "too_large", message });
  });

  it("is refused if a name is too long", async () => {
    const column = "é".repeat(501);
    const ticker = "é".repeat(129);
    const message = /has more than the (256|1000) bytes of a name/;
    for (const document of [
      { features: { [ticker]: {} } },
      [{ ticker, date: D1 }],
      { A: { [column]: {} } },
      { A: { columns: [column], index: [], data: [] } },
    ])
      await assert.rejects(read(document), { code: "too_large", message });
    const metadata = { note: { [column]: column } };
    const longest = { [ticker.slice(1)]: { [column.slice(1)]: [] } };
    assert.deepEqual(await read({ metadata, dates: [], features: longest }), longest);
  });

  it("is refused if it has too many tickers, or names that are too long together, each column counted once", async () => {
    const small = (document: unknown) => read(document, { tickers: 4, nameBytes: 20 });
    // 3 tickers of 2 bytes, 2 columns of 7: 20 bytes.
    const columns = { column1: { [D1]: 1 }, "2column": { [D1]: 1 } };
    await small({ T1: columns, T2: columns, T3: columns });
    const records = ["T1", "T2", "T3"].map((ticker) => ({ ticker, date: D1, column1: 1, "2column": 1 }));
    await small(records);
    const message = /names of its tickers and columns take more than 20 bytes \(MUCAST_BLOB_NAME_BYTES\)/;
    for (const document of [
      { T1: columns, T2: { ...columns, c: { [D1]: 1 } }, T3: columns },
      [...records, { ticker: "T1", date: D2, c: 1 }],
    ])
      await assert.rejects(small(document), { code: "too_large", message });
    const five = { features: Object.fromEntries([1, 2, 3, 4, 5].map((i) => [i, {}])) };
    const tickers = /"5" is one more than the 4 tickers that a blob may have \(MUCAST_BLOB_TICKERS\)/;
    await assert.rejects(small(five), { code: "too_large", message: tickers });
  });

  it("says what was given in place of a blob", async () => {
    const chunks = (async function* () {
      yield Buffer.from("Date,");
      yield Buffer.from("AAPL\n2020-01-02,1\n");
    })();
    await assert.rejects(readFeatures({ name: "p.csv", chunks }, { workFolder: "/nowhere" }).next(), {
      code: "unreadable_blob",
      message: /p\.csv: the blob looks like CSV/,
    });
  });

  it("passes on what its source throws, and needs no work folder unless it spills", async () => {
    async function* broken() {
      yield Buffer.from("[");
      throw new MucastError("blob_unavailable", "the server hung up");
    }
    const features = readFeatures({ name: "f.json", chunks: broken() }, { workFolder: "/nowhere" });
    await assert.rejects(features.next(), { code: "blob_unavailable" });
  });
});
