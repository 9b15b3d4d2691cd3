import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
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

async function refused(document: unknown, message: RegExp, ticker?: string): Promise<void> {
  await assert.rejects(open(document), (error: unknown) => {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "invalid_data");
    assert.match(error.message, message);
    assert.equal(error.data.source, "prices.json");
    assert.equal(error.data.ticker, ticker);
    return true;
  });
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
    "a split table": {
      A: {
        columns: ["Close", "Currency"],
        index: [E1, E2],
        data: [
          [1, "USD"],
          [2, "USD"],
        ],
      },
    },
    "a split table in another order": {
      A: {
        data: [
          [D2, 2],
          [D1, 1],
        ],
        columns: ["Date", "close"],
        index: [0, 1],
      },
    },
    "a split table that names its ticker": {
      A: {
        columns: ["ticker", "date", "close"],
        index: [0, 1],
        data: [
          ["A", E1, 1],
          ["A", E2, 2],
        ],
      },
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

  it("refuses bounds that are no dates or contradict each other", async () => {
    const prices = { prices: { A: [] } };
    await refused({ start: "January", ...prices }, /start "January" is not a date/);
    await refused({ start: E1 + 1, ...prices }, /midnight UTC/);
    await refused({ end: true, ...prices }, /end is true or false/);
    await refused(
      { start: D1, window: { start_date: D2 }, ...prices },
      /start_date is 2020-01-03, but "start" is 2020/,
    );
    await refused(`{"start":"${D1}","start":"${D1}","prices":{}}`, /"start" comes twice/);
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
    assert.deepEqual(
      await read({ A: [{ ...record, "ADJ CLOSE": null }], B: [record], C: [{ date: D1, price: 3 }] }),
      {
        A: [[D1, Number.NaN]],
        B: [[D1, 2]],
        C: [[D1, 3]],
      },
    );
  });

  it("accepts a ticker without rows", async () => {
    assert.deepEqual(await read({ prices: { A: [], B: {} } }), { A: [], B: [] });
    for (const empty of [[], { data: [] }, { prices: {} }, { columns: [], index: [], data: [] }]) {
      assert.deepEqual(await read(empty), {});
    }
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

  it("may have a ticker called LAST, but not the fields of one security in place of tickers", async () => {
    const prices = { A: [1, 2], LAST: [3, 4] };
    assert.deepEqual(Object.keys(await read({ dates: [D1, D2], prices })), ["A", "LAST"]);
    await refused({ dates: [D1], prices: { Open: [1], Close: [1] } }, /has the fields of one security/);
    await refused({ dates: [D1], prices: { close: [1], sma: [1] } }, /has the fields of one security/);
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

  it("refuses an unknown layout", async () => {
    await refused("7", /is a number/);
    await refused("{}", /contains no tickers/);
    await refused({ start: D1, dates: [D1] }, /contains no tickers/);
    await refused({ prices: { A: "1.5" } }, /"A" is a string/, "A");
    await refused({ prices: { A: null } }, /"A" is null/, "A");
    await refused({ prices: 7 }, /prices is a number/);
    await refused({ prices: [7] }, /prices\[0\] is a number/);
    await refused({ A: [[1]] }, /"A" is an array/, "A");
    await refused({ A: { x: 1 } }, /not a known layout/, "A");
    await refused([1], /a number is among records/);
    await refused({ dates: [D1], A: [1], comment: "?" }, /"comment" is a string/, "comment");
    await refused({ dates: [D1], A: [1], prices: { B: [1] } }, /"prices" is next to tickers/);
    await refused(
      { data: { A: { dates: [D1], close: [1] } }, prices: { B: [] } },
      /"prices" is next to "data"/,
    );
    await refused('{"columns":["A"],"columns":["B"],"index":[],"data":[]}', /"columns" comes twice/);
    await refused({ columns: ["A"], index: [D1] }, /data is missing from a split table/);
    await refused({ index: [D1], data: [[1]] }, /columns is missing/);
    await refused({ columns: ["A"], data: [[1]] }, /index is missing/);
    await refused(
      { columns: ["close", "volume"], index: [D1], data: [[1, 2]] },
      /has the fields of one security/,
    );
    await refused({ dates: D1, prices: { A: [1] } }, /dates is a string/);
    await refused({ columns: ["ticker", "date"], index: [0], data: [["A", D1]] }, /column of tickers/);
  });

  it("refuses prices without dates or price columns", async () => {
    await refused({ prices: { A: [1] } }, /"A" has no dates/, "A");
    await refused({ A: { dates: [D1], volume: [1] } }, /"A" has no price column/, "A");
    await refused({ A: [{ date: D1, volume: 1 }] }, /"A" has no price column/, "A");
    await refused({ A: { Open: { [D1]: 1 } } }, /"A" has no price column/, "A");
    await refused({ A: { columns: ["x"], index: [D1], data: [[1]] } }, /"A" has no price column/, "A");
    await refused({ A: [{ close: 1 }] }, /"A" has a record without date/, "A");
    await refused([{ date: D1, close: 1 }], /no ticker or symbol/);
    await refused({ A: [{ date: D1, close: 1, Close: 2 }] }, /two columns "close" and "Close"/, "A");
  });

  it("refuses texts that are not dates, and repeated dates", async () => {
    await refused(
      { dates: [D1, "2020-02-30"], prices: { A: [1, 2] } },
      /dates\[1\] "2020-02-30" is not a date/,
    );
    await refused({ dates: ["20200102"], prices: { A: [1] } }, /midnight UTC/);
    await refused(
      { dates: [E1, E2 + 3_600_000], prices: { A: [1, 2] } },
      /dates\[1\] "1578013200000" .*midnight UTC/,
    );
    await refused({ dates: [null], prices: { A: [1] } }, /dates\[0\] is null/);
    await refused({ dates: [D1, D2, D1], prices: { A: [1, 2, 3] } }, /dates has the date 2020-01-02 twice/);
    await refused({ A: { dates: [D1, E1], close: [1, 2] } }, /A.dates has the date 2020-01-02 twice/, "A");
    await refused(
      [
        { ticker: "A", date: D1, close: 1 },
        { ticker: "A", date: `${D1} 00:00`, close: 2 },
      ],
      /twice/,
      "A",
    );
    await refused(
      `{"A":{"${D1}":{"close":1},"${D1}":{"close":1}}}`,
      /"A" has the key "2020-01-02" twice/,
      "A",
    );
    await refused({ A: { close: { [D1]: 1, [E1]: 1 } } }, /A.close has the date 2020-01-02 twice/, "A");
    await refused({ A: { close: { [D1]: 1, [E1 + 1]: 1 } } }, /midnight UTC/, "A");
    await refused({ A: { [D1]: 1, total: 1 } }, /is among dates/, "A");
    await refused({ A: [{ date: "soon", close: 1 }] }, /A.date "soon" is not a date/, "A");
    await refused({ A: { [D1]: { close: 1, date: D2 } } }, /is 2020-01-03 in the record of 2020-01-02/, "A");
    await refused({ A: [{ date: D1, close: 1, ticker: "B" }] }, /"A" has a record of "B"/, "A");
    await refused(
      { A: { columns: ["ticker", "close"], index: [D1], data: [["B", 1]] } },
      /a row of "B"/,
      "A",
    );
    await refused({ dates: { start: D1 }, prices: { A: [1] } }, /"A" has no dates/, "A");
  });

  it("refuses a date that is followed by a time of day, or by something other than a time", async () => {
    for (const [date, why] of [
      ["2021-01-04T25:00:00Z", "is not a date: YYYY-MM-DD is expected"],
      ["2021-01-04 garbage", "is not a date"],
      ["2021-01-04T22:00:00.000Z", "is not midnight in its own zone; write dates as YYYY-MM-DD"],
    ] as const) {
      const message = new RegExp(`"${date}"\\]?,? (?:is among dates, but |which )?${why}`);
      await refused({ dates: [D1, date], prices: { A: [1, 2] } }, message);
      await refused({ start: date, dates: [D1], prices: { A: [1] } }, message);
      await refused({ A: [{ date, close: 1 }] }, message, "A");
      await refused({ A: { close: { [D1]: 1, [date]: 1 } } }, message, "A");
      await refused({ A: { [date]: { close: 1 } } }, message, "A");
    }
  });

  it("refuses prices that are not numbers, with their position", async () => {
    await refused({ dates: [D1, D2], prices: { A: [1, "2"] } }, /A\[1\] is a string/, "A");
    await refused({ dates: [D1], prices: { A: [true] } }, /"A" is true or false/, "A");
    await refused({ A: [{ date: D1, close: "1" }] }, /A\["2020-01-02"\].close is a string/, "A");
    await refused({ A: { close: { [D1]: [1] } } }, /A.close\["2020-01-02"\] is an array/, "A");
    await refused({ A: { close: "high", dates: [D1] } }, /A.close/, "A");
    await refused({ columns: ["A"], index: [D1], data: [["1"]] }, /data\[0\]\[0\] is a string/);
    await refused(
      { A: { columns: ["close"], index: [D1], data: [[false]] } },
      /A.close\[0\] is true or false/,
      "A",
    );
    await refused({ [D1]: { A: "1" } }, /A\["2020-01-02"\] is a string/, "A");
  });

  it("refuses arrays of unequal length and repeated keys", async () => {
    await refused({ dates: [D1, D2], prices: { A: [1] } }, /"A" has columns of length 1 beside 2 dates/, "A");
    await refused({ dates: [D1], prices: { A: [] } }, /length 0 beside 1 date\./, "A");
    await refused({ A: { dates: [D1, D2], close: [1] } }, /length 1; it has 2 dates/, "A");
    await refused(
      { A: { columns: ["close"], index: [D1, D2], data: [[1]] } },
      /columns of length 1; it has 2 dates/,
      "A",
    );
    await refused(
      { columns: ["A", "B"], index: [D1], data: [[1]] },
      /data\[0\] has 1 value; there are 2 columns/,
    );
    await refused(
      { columns: ["A"], index: [D1, D2], data: [[1], [1, 2]] },
      /data\[1\] has 2 values; there is 1 column/,
    );
    await refused(`{"prices":{"A":[],"A":[]}}`, /"A" comes twice/, "A");
    await refused(`{"A":{"close":{},"close":{}}}`, /"A" has the key "close" twice/, "A");
    await refused(`{"A":{"close":[],"close":[],"dates":[]}}`, /"A" has the key "close" twice/, "A");
    await refused({ columns: ["A", "A"], index: [], data: [] }, /columns\[1\] is "A", which comes twice/);
    await refused({ dates: [D1], Date: [D1], prices: { A: [1] } }, /second array of dates/);
    await refused({ dates: [D1], prices: { A: [1], dates: [D2], B: [1] } }, /dates come after tickers/);
  });

  it("throws for a ticker that it does not have", async () => {
    const blob = await open([]);
    assert.throws(() => blob.load("A"), /no ticker A/);
  });
});
