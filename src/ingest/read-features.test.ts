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

const chunksOf = (document: unknown) => [
  Buffer.from(typeof document === "string" ? document : JSON.stringify(document)),
];

/** Each ticker's columns. */
async function read(
  document: unknown,
  limits?: BlobLimits,
): Promise<Record<string, Record<string, number[]>>> {
  const found: [string, Record<string, number[]>][] = [];
  const options = { workFolder: "/nowhere", limits };
  const features = readFeatures(sourceOf(chunksOf(document), "features.json"), options);
  for await (const { ticker, days, columns, values } of features) {
    const n = days.length;
    const table = columns.map((name, j): [string, number[]] => [
      name,
      [...values.subarray(j * n, (j + 1) * n)],
    ]);
    found.push([ticker, Object.fromEntries(table)]);
  }
  return Object.fromEntries(found);
}

async function refused(document: unknown, message: RegExp, ticker?: string): Promise<void> {
  await assert.rejects(read(document), (error: unknown) => {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "invalid_data", error.message);
    assert.match(error.message, message);
    assert.equal(error.data.source, "features.json");
    assert.equal(error.data.ticker, ticker);
    return true;
  });
}

describe("a feature blob's values", () => {
  it("are numbers, null, or what Python writes for missing values", async () => {
    const cells = "1, null, NaN, Infinity, -Infinity, -0, 5e-324";
    const dates = Array.from({ length: 7 }, (_, i) => `"2020-01-0${i + 1}"`);
    assert.deepEqual(await read(`{"dates": [${dates}], "features": {"A": {"x": [${cells}]}}}`), {
      A: { x: [1, ...Array<number>(4).fill(Number.NaN), -0, 5e-324] },
    });
  });

  it("are refused when they are strings, booleans or nested, in every layout, with their position", async () => {
    for (const bad of ["1.5", true, [1], { a: 1 }]) {
      const what =
        typeof bad === "string" ? "a string" : bad === true ? "true or false" : "an? (array|object)";
      const at = (path: string) => new RegExp(`${path} is ${what}; a number or null is expected`);
      await refused({ dates: [D1, D2], features: { A: { x: [1, bad] } } }, at("A\\.x\\[1\\]"), "A");
      await refused([{ date: D1, x: bad, ticker: "A" }], at('A\\["2020-01-02"\\]\\.x'), "A");
      await refused({ A: [{ date: D1, x: bad }] }, at('A\\["2020-01-02"\\]\\.x'), "A");
      await refused({ A: { [D1]: { x: bad } } }, at('A\\["2020-01-02"\\]\\.x'), "A");
      await refused({ [D1]: { A: { x: bad } } }, at('A\\["2020-01-02"\\]\\.x'), "A");
      await refused({ A: { x: { [D1]: bad } } }, at('A\\.x\\["2020-01-02"\\]'), "A");
      await refused({ A: { columns: ["x"], index: [D1], data: [[bad]] } }, at("A\\.x\\[0\\]"), "A");
      await refused({ A: { dates: [D1], x: [bad] } }, at("A\\.x\\[0\\]"), "A");
    }
  });

  it("are refused if a whole column or ticker has another type", async () => {
    await refused({ A: { dates: [D1], x: 1 } }, /A.x is a number; an array is expected/, "A");
    await refused({ A: { x: { [D1]: 1 }, y: [1] } }, /A.y is an array; an object by date is expected/, "A");
    await refused({ A: { x: { [D1]: 1 }, y: null } }, /A.y is null/, "A");
    await refused({ A: { [D1]: 1 } }, /A\["2020-01-02"\] is a number, which is not a known layout/, "A");
    await refused({ A: { [D1]: { x: 1 }, [D2]: 1 } }, /is a number; an object of columns is expected/, "A");
    await refused({ A: { currency: "USD", dates: [D1], x: [1] } }, /A.currency is a string/, "A");
    await refused({ dates: [D1], features: { A: [1] } }, /without the names of its features/, "A");
    await refused(
      { columns: ["A"], index: [D1], data: [[1]] },
      /the blob is one split table, which does not tell/,
    );
    await refused({ features: [[1]] }, /features\[0\] is an array/);
  });
});

describe("a feature blob", () => {
  it("may name its ticker again, but no other", async () => {
    const expected = { A: { x: [1] } };
    assert.deepEqual(await read({ A: { ticker: "A", Symbols: [2], dates: [D1] } }), { A: { Symbols: [2] } });
    assert.deepEqual(await read({ A: { ticker: ["A"], dates: [D1], x: [1] } }), expected);
    assert.deepEqual(await read({ A: { symbol: "A", x: { [D1]: 1 } } }), expected);
    assert.deepEqual(await read({ A: [{ x: 1, Ticker: "A", date: E1 }] }), expected);
    await refused({ A: { ticker: ["B"], dates: [D1], x: [1] } }, /a row of "B"/, "A");
    await refused({ A: [{ x: 1, Ticker: "B", date: E1 }] }, /has a record of "B"/, "A");
    await refused([{ ticker: "A", symbol: "A", date: D1, x: 1 }], /two tickers, "ticker" and "symbol"/);
    await refused([{ ticker: ["A"], date: D1, x: 1 }], /"ticker" is an array/);
  });

  it("may number its tickers", async () => {
    assert.deepEqual(await read([{ ticker: 7203, date: D1, x: 1 }]), { "7203": { x: [1] } });
    assert.deepEqual(await read({ "7203": { "0": { [D1]: 1 }, "600519": { [D1]: 2 } } }), {
      "7203": { "0": [1], "600519": [2] },
    });
    await refused([{ ticker: 1.5, date: D1, x: 1 }], /"ticker" is a number; a string is expected/);
  });

  it("must not have two columns of dates", async () => {
    await refused([{ ticker: "A", date: D1, timestamp: E1 }], /two dates, "date" and "timestamp"/);
    await refused({ A: { dates: [D1], timestamp: [E1], x: [1] } }, /two dates, "dates" and "timestamp"/, "A");
    await refused(
      { A: { columns: ["date", "timestamp"], index: [0], data: [[D1, E1]] } },
      /two dates, "date" and "timestamp"/,
      "A",
    );
  });

  it("may have columns called columns, index or data", async () => {
    const columns = { index: [2, 2], data: [3, 4], columns: [5, 6] };
    await refused({ A: { dates: [D1, D2], ...columns } }, /split table/, "A");
    const { columns: _, ...two } = columns;
    assert.deepEqual(await read({ A: { dates: [D1, D2], ...two } }), { A: two });
    await refused(
      { A: { columns: ["x"], index: [D1], data: [[1]], y: [1] } },
      /A.y is next to the columns/,
      "A",
    );
  });

  it("has no window: keys with such names are skipped", async () => {
    const document = {
      start: "whenever",
      end: [7],
      window: { start: {} },
      dates: [D1],
      features: { A: { x: [1] } },
    };
    assert.deepEqual(await read(document), { A: { x: [1] } });
  });

  it("uses its own wrapper if prices are in the same file", async () => {
    const features = { A: { x: [1] } };
    const prices = { A: [27.3] };
    assert.deepEqual(await read({ dates: [D1], prices, features }), features);
    assert.deepEqual(await read({ features, prices, dates: [D1] }), features);
    assert.deepEqual(await read({ data: { dates: [D1], features, prices } }), features);
  });

  it("is refused for a repeated ticker or column", async () => {
    await refused('{"features":{"A":{},"A":{}}}', /"A" comes twice/, "A");
    await refused('{"A":{"x":[1],"x":[2]}}', /"A" has the key "x" twice/, "A");
    await refused(`[{"ticker":"A","date":"${D1}","x":1,"x":2}]`, /has the key "x" twice/);
    await refused(`[{"ticker":"A","ticker":"A","date":"${D1}"}]`, /has the key "ticker" twice/);
    await refused('{"A":{"x":{},"x":{}}}', /"A" has the key "x" twice/, "A");
    await refused({ A: { columns: ["x", "x"], index: [], data: [] } }, /which comes twice/, "A");
  });

  it("is refused beyond its limits, which the error states", async () => {
    const tickers = Array.from({ length: 100_001 }, (_, i) => `"T${i}":{}`);
    const last = /"T100000" is one more than the 100000 tickers that a blob may have \(MUCAST_BLOB_TICKERS\)/;
    await assert.rejects(read(`{"features":{${tickers}}}`), { code: "too_large", message: last });
    const columns = Array.from({ length: MAX_COLUMNS + 1 }, (_, i) => `c${i}`);
    const wide = [
      { dates: [], features: { A: Object.fromEntries(columns.map((name) => [name, []])) } },
      { A: Object.fromEntries(columns.map((name) => [name, {}])) },
      [{ ticker: "A", date: D1, ...Object.fromEntries(columns.map((name) => [name, 1])) }],
    ];
    for (const document of wide) await assert.rejects(read(document), { code: "too_large" });
  });

  it("is refused if few bytes mean more values than a ticker may have", async () => {
    // One fewer than allowed, because the date of a record counts as a key.
    const columns = Array.from({ length: MAX_COLUMNS - 1 }, (_, i) => `c${i}`);
    const days = Array.from({ length: Math.ceil(2 ** 27 / MAX_COLUMNS) + 3 }, (_, i) => formatDay(i));
    const [first, ...others] = columns;
    const byDay = Object.fromEntries(days.map((day) => [day, 1]));
    const empty = others.map((name) => [name, {}]);
    const row = Object.fromEntries(columns.map((name) => [name, 1]));
    const sparse = [
      { A: { ...Object.fromEntries(empty), [first!]: byDay } },
      { A: { [first!]: byDay, ...Object.fromEntries(empty) } },
      { A: [...days.map((date) => ({ date })), { date: "2100-01-01", ...row }] },
    ];
    const message = /has more than 134217728 values/;
    for (const document of sparse) await assert.rejects(read(document), { code: "too_large", message });
  });

  it("is refused if a name is too long", async () => {
    const column = "é".repeat(501);
    const ticker = "é".repeat(129);
    const long = [
      { [ticker]: { x: {} } },
      { features: { [ticker]: {} } },
      [{ ticker, date: D1 }],
      { [D1]: { [ticker]: { x: 1 } } },
      { A: { [column]: {} } },
      [{ ticker: "A", date: D1, [column]: 1 }],
      { A: { columns: [column], index: [], data: [] } },
    ];
    const message = /has more than the (256|1000) bytes of a name/;
    for (const document of long) await assert.rejects(read(document), { code: "too_large", message });
    const metadata = { note: { [column]: column } };
    const longest = { [ticker.slice(1)]: { [column.slice(1)]: [] } };
    assert.deepEqual(await read({ metadata, dates: [], features: longest }), longest);
  });

  it("is refused if its names together are too long, with each column counted once", async () => {
    const limits = { tickers: 4, nameBytes: 20 };
    const small = (document: unknown) => read(document, limits);
    // 3 tickers of 2 bytes, 2 columns of 7: 20 bytes.
    const columns = { column1: { [D1]: 1 }, "2column": { [D1]: 1 } };
    await small({ T1: columns, T2: columns, T3: columns });
    const records = ["T1", "T2", "T3"].map((ticker) => ({ ticker, date: D1, column1: 1, "2column": 1 }));
    await small(records);
    const message = /names of its tickers and columns take more than 20 bytes \(MUCAST_BLOB_NAME_BYTES\)/;
    const over = [
      { T1: columns, T2: columns, T3: columns, T4: columns },
      { T1: columns, T2: { ...columns, c: { [D1]: 1 } }, T3: columns },
      [...records, { ticker: "T1", date: D2, c: 1 }],
      { dates: [D1], T1: { column1: [1], "2column": [1] }, T2: { column3: [1] } },
      { T1: { columns: ["column1", "column2", "column3"], index: [], data: [] } },
      { [D1]: { T1: { column1: 1 }, T2: { column2: 1 }, T3: { c: 1 } } },
    ];
    for (const document of over) await assert.rejects(small(document), { code: "too_large", message });
    const five = { features: Object.fromEntries([1, 2, 3, 4, 5].map((i) => [i, {}])) };
    await assert.rejects(small(five), { code: "too_large", message: /one more than the 4 tickers/ });
  });

  it("says what was given in place of a blob", async () => {
    await refused(
      { schema: "mucast.forecast/1", mu: { A: 0.1 } },
      /this is the output of a job, not a feature blob/,
    );
    const chunks = (async function* () {
      yield Buffer.from("Date,");
      yield Buffer.from("AAPL\n2020-01-02,1\n");
    })();
    await assert.rejects(readFeatures({ name: "p.csv", chunks }, { workFolder: "/nowhere" }).next(), {
      code: "unreadable_blob",
      message: /p\.csv: the blob looks like CSV/,
    });
  });

  it("names a ticker without its control characters", async () => {
    const document = { "A\u001b[31m\u009b1m\u202e": { x: [true] } };
    await refused(document, /^[\x20-\x7e]*$/, Object.keys(document)[0]);
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
