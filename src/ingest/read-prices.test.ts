import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import { cut, sourceOf } from "./chunks.testing.ts";
import { readPrices } from "./read-prices.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-prices-"));
after(() => rm(workFolder, { recursive: true }));

const D1 = "2020-01-02";
const D2 = "2020-01-03";
const E1 = Date.parse(D1);
const E2 = Date.parse(D2);
const BOTH = [
  [D1, 1],
  [D2, 2],
];

const split = (columns: string[], index: unknown[], ...data: unknown[][]) => ({ columns, index, data });

async function open(document: unknown) {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  return await readPrices(sourceOf(cut(Buffer.from(text), [5]), "prices.json"), { workFolder });
}

/** Each ticker's dates and prices. */
async function read(document: unknown): Promise<Record<string, (string | number)[][]>> {
  const blob = await open(document);
  const tables = blob.tickers.map((ticker) => {
    const { days, prices } = blob.load(ticker);
    return [ticker, [...days].map((day, i) => [formatDay(day), prices[i]!])] as const;
  });
  return Object.fromEntries(tables);
}

describe("a data-extraction blob", () => {
  const same: Record<string, unknown> = {
    "the canonical layout": { start: D1, end: D2, Learning_end: D1, dates: [D1, D2], prices: { A: [1, 2] } },
    "the canonical layout without prices around it": { dates: [D1, D2], A: [1, 2] },
    "an array of dates called Date": { Date: [E1, E2], A: [1, 2] },
    "dates that come last": { prices: { A: [2, 1] }, dates: [D2, D1] },
    "dates outside of a wrapper": { dates: [E1, E2], data: { prices: { A: [1, 2] } } },
    "flat records": [
      { ticker: "A", date: D2, close: 2, currency: "USD", tags: ["x", { y: 1 }] },
      { symbol: "A", timestamp: E1, volume: 9, close: 1, open: "n/a" },
    ],
    "wrapped records": {
      data: [
        { Date: D1, Close: 1, Ticker: "A" },
        { Date: D2, Close: 2, Ticker: "A" },
      ],
    },
    "records by ticker": {
      A: [
        { date: D1, "Adj Close": 1, close: 7 },
        { date: D2, "Adj Close": 2, close: 7 },
      ],
    },
    "records by date": { A: { [D1]: { close: 1, volume: 1e6 }, [D2]: { close: 2, volume: null } } },
    "values by column": { A: { Open: { [E1]: 3 }, Price: { [E2]: 2, [E1]: 1 }, info: { sector: "tech" } } },
    "a split table": { A: split(["Close", "Currency"], [E1, E2], [1, "USD"], [2, "USD"]) },
    "a split table in another order": {
      A: { data: BOTH.toReversed(), columns: ["Date", "close"], index: [0, 1] },
    },
    "a split table that names its ticker": {
      A: split(["ticker", "date", "close"], [0, 1], ["A", E1, 1], ["A", E2, 2]),
    },
    "one split table with a column a ticker": { columns: ["A"], index: [D1, D2], data: [[1], [2]] },
    "one wrapped split table": { prices: { data: [[1], [2]], index: [D1, D2], columns: ["A"] } },
    "columns with their own dates": { A: { currency: "USD", dates: [D1, D2], volume: ["?"], close: [1, 2] } },
    "values by date": { A: { name: "A Inc.", [E1]: 1, [E2]: 2 } },
    "tickers by date": { [D1]: { A: 1, B: null }, [D2]: { A: 2 } },
    "records of tickers by date": { [D1]: { A: { close: 1 } }, [D2]: { A: { close: 2 } } },
    "more beside the wrapper than is known": {
      id: 7,
      tickers: ["A"],
      columns: ["A"],
      returns: { A: [0.1] },
      dates: [D1, D2],
      features: { A: { mom: [1, 2] } },
      prices: { A: [1, 2] },
      benchmark: { B: "?" },
    },
  };
  for (const [layout, document] of Object.entries(same)) {
    it(`is read from ${layout}`, async () => assert.deepEqual((await read(document)).A, BOTH));
  }

  it("finds its window under each of its names, at the top and in each holder", async () => {
    const window = { start: parseDay(D1), end: parseDay(D2), learningEnd: parseDay(D1) };
    const prices = { dates: [D1], prices: { A: [1] } };
    const documents = [
      { start: D1, end: D2, Learning_end: D1, ...prices },
      { ...prices, start_date: `${D1}T00:00:00-09:00`, sample_end: E2, LEARNING_END: D1 },
      { ...prices, window: { sample_start: D1, end_date: D2, learning_end: D1, horizon: { days: 1 } } },
      { metadata: { start: D1, source: ["?"] }, sample: { end: D2 }, learning_end: D1, ...prices },
      { prices: { A: { dates: [D1], close: [1] } }, dates: { start: D1, end: D2, learning_END: D1 } },
      { data: { start: D1, end: D2, Learning_end: D1, ...prices }, end: D2, start: null },
    ];
    for (const document of documents)
      assert.deepEqual((await open(document)).window, window, JSON.stringify(document));
    assert.deepEqual((await open({ ...prices, start: null, Learning_end: null })).window, {});
    assert.deepEqual((await open([])).window, {});
  });

  it("lists its tickers in code point order, and loads each any number of times", async () => {
    const blob = await open(
      `{"prices":{"😀":[1],"Ａ":[2],"__proto__":[3],"10":[4],"9":[5]},"dates":["${D1}"]}`,
    );
    assert.deepEqual(blob.tickers, ["10", "9", "__proto__", "Ａ", "😀"]);
    for (const _ of [1, 2]) assert.deepEqual([...blob.load("__proto__").prices], [3]);
  });

  it("uses the first of adj_close, close and price that a ticker has, and never another if a value is missing", async () => {
    const record = { date: D1, price: 3, close: 2 };
    const document = { A: [{ ...record, "ADJ CLOSE": null }], B: [record], C: [{ date: D1, price: 3 }] };
    assert.deepEqual(await read(document), { A: [[D1, Number.NaN]], B: [[D1, 2]], C: [[D1, 3]] });
  });

  it("accepts a ticker without rows", async () => {
    assert.deepEqual(await read({ prices: { A: [], B: {} } }), { A: [], B: [] });
    for (const empty of [[], { data: [] }, { prices: {} }, split([], [])])
      assert.deepEqual(await read(empty), {});
  });

  it("skips a wrapper with a fault if its own follows, however far its arrays were read", async () => {
    const prices = { A: { [D1]: 1, [D2]: 2 } };
    for (const data of [{ features: [{ date: D1, x: 1 }] }, { data: [[1], [1, 2]] }, { features: [] }])
      assert.deepEqual((await read({ data, prices })).A, BOTH);
  });

  it("leaves out row numbers of a wide table, and no ticker of that name", async () => {
    const numbers = { level_0: { [D1]: 0, [D2]: 1 }, A: { [D1]: 1, [D2]: 2 } };
    assert.deepEqual(Object.keys(await read(numbers)), ["A"]);
    const ticker = { level_0: { [D1]: 5, [D2]: 7 }, A: { [D1]: 1, [D2]: 2 } };
    assert.deepEqual(Object.keys(await read(ticker)), ["A", "level_0"]);
  });

  it("may have a ticker called LAST", async () => {
    const prices = { A: [1, 2], LAST: [3, 4] };
    assert.deepEqual(Object.keys(await read({ dates: [D1, D2], prices })), ["A", "LAST"]);
  });

  it("reads a long text in linear time, with escapes at every cut", async () => {
    const text = `{"note":${JSON.stringify('\\"\\'.repeat(50))},"prices":{"A":[1]},"dates":["${D1}"]}`;
    for (let cutAt = 1; cutAt < 9; cutAt++) {
      const blob = await readPrices(sourceOf(cut(Buffer.from(text), [cutAt]), "prices.json"), { workFolder });
      assert.deepEqual(blob.tickers, ["A"]);
    }
    const chunk = Buffer.alloc(2 ** 16, "x");
    const long = [Buffer.from('{"note":"'), ...Array(512).fill(chunk), Buffer.from(text.replace("{", '",'))];
    assert.deepEqual((await readPrices(sourceOf(long, "prices.json"), { workFolder })).tickers, ["A"]);
  });
});
