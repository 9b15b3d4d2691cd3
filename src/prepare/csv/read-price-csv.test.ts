import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { readPriceCsv } from "./read-price-csv.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-csv-"));
after(() => rmSync(folder, { recursive: true }));
const path = join(folder, "prices.csv");

/** `{ ticker: { date: price } }` of a CSV text. */
async function read(text: string | Uint8Array) {
  writeFileSync(path, text);
  const { tickers } = await readPriceCsv(path);
  return Object.fromEntries(
    tickers.map(({ ticker, days, prices }) => [
      ticker,
      Object.fromEntries([...days].map((day, i) => [formatDay(day), prices[i]])),
    ]),
  );
}

async function refusal(text: string | Uint8Array, code: ErrorCode = "invalid_data"): Promise<MucastError> {
  const error = await read(text)
    .then(() => assert.fail("it was read"))
    .catch((error: unknown) => error);
  assert.ok(error instanceof MucastError && error.code === code, String(error));
  return error;
}

const TWO = { A: { "2020-01-02": 1.5, "2020-01-03": 2 }, B: { "2020-01-02": 10, "2020-01-03": 20 } };

test("the errors of a CSV have the codes of inputs, and their messages do not mention blobs", async () => {
  const absent = readPriceCsv(join(folder, "absent.csv")).catch((error: unknown) => error);
  for (const error of [await refusal("Date,A\n2020-01-02,x\n"), await absent]) {
    const { code, title, detail, advice } = problemOf(error);
    assert.notEqual(code, "internal");
    assert.doesNotMatch(`${title} ${detail} ${advice}`, /\bblob/);
  }
});

test("names tickers without any price, and refuses more tickers than jobs accept, with the line", async () => {
  for (const text of [
    "Date,A,Z,B\n2020-01-02,,,1\n",
    "Date,Ticker,Close\n2020-01-02,Z,\n2020-01-02,B,1\n2020-01-02,A,\n",
  ]) {
    writeFileSync(path, text);
    const { tickers, unpriced } = await readPriceCsv(path);
    assert.deepEqual([tickers.map(({ ticker }) => ticker), unpriced], [["B"], ["A", "Z"]]);
  }
  for (const [text, line] of [
    ["Date,A,B,C\n2020-01-02,1,2,bad\n", 1],
    ["Date,Ticker,Close\n2020-01-02,A,1\n2020-01-02,B,1\n2020-01-03,A,1\n2020-01-03,C,1\n", 5],
  ] as const) {
    writeFileSync(path, text);
    const refused = await readPriceCsv(path, undefined, { tickers: 2 }).catch((error: unknown) => error);
    assert.ok(refused instanceof MucastError && refused.code === "too_large", String(refused));
    assert.equal(
      refused.message,
      `${path}: line ${line} makes 3 tickers, and 2 are allowed (MUCAST_BLOB_TICKERS)`,
    );
  }
});

test("a wide file and a long file of the same prices are equivalent", async () => {
  assert.deepEqual(await read("Date,A,B\n2020-01-02,1.5,10\n2020-01-03,2,20\n"), TWO);
  assert.deepEqual(
    await read("date,ticker,close\n2020-01-02,A,1.5\n2020-01-02,B,10\n2020-01-03,A,2\n2020-01-03,B,20\n"),
    TWO,
  );
});

test("delimiters, line ends, quotes, a byte order mark, blank lines and gzip do not matter", async () => {
  for (const text of [
    "\uFEFFDate,A,B\r\n2020-01-02,1.5,10\r\n2020-01-03,2,20\r\n",
    "Date;A;B\n2020-01-02;1,5;10\n2020-01-03;2;20",
    "Date\tA\tB\n2020-01-02\t1.5\t10\n2020-01-03\t2\t20",
    "Date|A|B\n2020-01-02|1.5|10\n2020-01-03|2|20",
    '"Date","A","B"\n"2020-01-02","1.5","10"\n"2020-01-03"," 2","20 "\n',
    "Date, A , B\n\n2020-01-03, 2 , 20\n,,\n2020-01-02,1.5,10\n\n",
    "Date,A,B,\n2020-01-02,1.5,10,\n2020-01-03,2,20,\n",
    ",A,B\n2020-01-02 00:00:00,1.5,10\n2020-01-03 00:00:00,2,20\n",
    "Unnamed: 0,Date,A,B\n0,2020-01-02,1.5,10\n1,2020-01-03,2,20\n",
    "B,A,timestamp\n10,1.5,20200102\n20,2,20200103\n",
    gzipSync("Date,A,B\n2020-01-02,1.5,10\n2020-01-03,2,20\n"),
  ]) {
    assert.deepEqual(await read(text), TWO, String(text));
  }
});

test("drops missing prices, keeps zero and negative ones, and sorts tickers by code point", async () => {
  const text = "Date,b,B,A\n2020-01-02,,0,NA\n2020-01-03,1,-2,null\n2020-01-06,#N/A,,nan\n";
  const found = await read(text);
  assert.deepEqual(found, { B: { "2020-01-02": 0, "2020-01-03": -2 }, b: { "2020-01-03": 1 } });
  assert.deepEqual(Object.keys(found), ["B", "b"]);
});

test("tickers may have names like numbers or like parts of JavaScript", async () => {
  writeFileSync(path, 'Date,10,9,__proto__,"A,B"\n2020-01-02,1,2,3,4\n');
  assert.deepEqual(
    (await readPriceCsv(path)).tickers.map(({ ticker, prices }) => [ticker, prices[0]]),
    [
      ["10", 1],
      ["9", 2],
      ["A,B", 4],
      ["__proto__", 3],
    ],
  );
});

test("refuses a second price for the same ticker and date, with both lines, even if one is blank", async () => {
  const long = "Date,Ticker,Close\n2020-01-02,A,1\n2020-01-02,B,1\n2020-01-02T00:00,A,\n";
  assert.match((await refusal(long)).message, /line 4 gives A a second price for 2020-01-02, after line 2/);
  const wide = await refusal("Date,A\n2020-01-02,1\n2020-01-03,1\n20200102,1\n");
  assert.equal(wide.data.line, 4);
});

test("the fault of a cell that is not a number names its column", async () => {
  const wide = await refusal("Date,A,Currency\n2020-01-02,1,USD\n");
  assert.match(wide.message, /"USD" \(line 2, "Currency"\) is not a number; leave out the columns/);
});

test("refuses a row that is cut or too long, with its line", async () => {
  assert.match(
    (await refusal("Date,A,B\n2020-01-02,1,2\n2020-01-03,1\n")).message,
    /line 3 has 2 cells.*has 3/,
  );
  assert.match((await refusal("Date,A,B\n2020-01-02,1,2,3\n")).message, /line 2/);
  await refusal("Date,Ticker,Close\n2020-01-02,,1\n");
});

test("counts lines like an editor, even after quoted line ends", async () => {
  assert.equal((await refusal('Date,"A\nB",C\n2020-01-02,1,2\n\n2020-01-03,1,x\n')).data.line, 5);
});

test("refuses a header that fits no layout, and says what would fit", async () => {
  assert.match((await refusal("A,B\n1,2\n")).message, /no date column.*"A", "B"/);
  assert.match((await refusal("Date\n2020-01-02\n")).message, /no ticker column/);
  assert.match(
    (await refusal("Date,Ticker,NAV,Volume\n2020-01-02,A,1,2\n")).message,
    /ticker column, "Ticker", but no price column.*"Date", "Ticker", "NAV", "Volume", and none is called a price/,
  );
  assert.deepEqual(await read("Date,A,TIC\n2020-01-02,1,2\n"), {
    A: { "2020-01-02": 1 },
    TIC: { "2020-01-02": 2 },
  });
  assert.match((await refusal("Date,A,A\n2020-01-02,1,2\n")).message, /two columns called "A"/);
  assert.match(
    (await refusal("Date,Open,High,Low,Close,Adj Close,Volume\n2020-01-02,1,1,1,1,1,1\n")).message,
    /fields of one security/,
  );
  assert.match(
    (await refusal("Date,Ticker,Close,close\n2020-01-02,A,1,2\n")).message,
    /two columns "Close" and "close" for one price/,
  );
});

test("a fault shows the beginning of a long name or cell", async () => {
  const long = "x".repeat(100_000);
  for (const text of [
    `${long},B\n1,2\n`,
    `Date,${long},${long}\n2020-01-02,1,2\n`,
    `Date,Ticker,Close,Close ${"-".repeat(100_000)}\n2020-01-02,A,1,2\n`,
    `Date,A\n2020-01-02,${long}"1\n`,
  ]) {
    const { message } = await refusal(text);
    assert.ok(message.length < 2_000, `${message.length}`);
  }
});

test("refuses broken quoting, other encodings, and files without content or price", async () => {
  assert.match((await refusal('Date,A\n2020-01-02,"1\n')).message, /line 2/);
  assert.match((await refusal(Buffer.from("Date,Caf\xe9\n2020-01-02,1\n", "latin1"))).message, /UTF-8/);
  assert.match((await refusal(Buffer.from("\uFEFFDate,A\n", "utf16le"))).message, /UTF-8/);
  for (const text of ["", "\n\n", "Date,A\n", "Date,A\n2020-01-02,\n"]) await refusal(text);
  await refusal(gzipSync("Date,A\n2020-01-02,1\n").subarray(0, 30), "unreadable_blob");
  await assert.rejects(readPriceCsv(join(folder, "missing")), /missing cannot be opened/);
});

test("refuses JSON in one sentence, whatever it contains, but not a header that begins with a bracket", async () => {
  for (const text of [
    '{"dates": ["2020-01-02"], "prices": {"A": [1]}}',
    '\uFEFF\n [{"date": "2020-01-02", "A": 1}]',
    "{}",
    "[[1, 2]]",
  ]) {
    const error = await refusal(text);
    assert.match(error.message, /^\S+ is JSON; prepare reads CSV and Parquet$/);
  }
  assert.deepEqual(await read("{A},Date\n1,2020-01-02\n"), { "{A}": { "2020-01-02": 1 } });
});

test("reads the same prices whatever the order of rows and columns", async () => {
  const cell = fc.tuple(
    fc.nat(400),
    fc.constantFrom("A", "B", "c"),
    fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
  );
  const cells = fc.uniqueArray(cell, {
    minLength: 1,
    maxLength: 40,
    selector: ([day, ticker]) => `${day} ${ticker}`,
  });
  await fc.assert(
    fc.asyncProperty(cells, fc.constantFrom(",", ";", "\t"), async (cells, delimiter) => {
      const expected: Record<string, Record<string, number>> = {};
      for (const [day, ticker, price] of cells)
        expected[ticker] = { ...expected[ticker], [formatDay(day)]: price };
      const rows = cells.map(([day, ticker, price]) => [ticker, `${price}`, formatDay(day)].join(delimiter));
      assert.deepEqual(
        await read([["Symbol", "Price", "Date"].join(delimiter), ...rows].join("\r\n")),
        expected,
      );
    }),
    { numRuns: 40 },
  );
});

test("refuses a ticker longer than jobs accept, with its line", async () => {
  const long = "é".repeat(129);
  const { message } = await refusal(`Symbol,Date,Close\nA,2020-01-02,1\n${long},2020-01-02,1\n`, "too_large");
  assert.match(message, /line 3 names a ticker of more than 256 bytes/);
});
