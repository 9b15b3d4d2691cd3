import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { zoneCalendar } from "../ingest/date-text.ts";
import { recordsOf } from "./csv-records.ts";
import { type FileOptions, readPriceFile } from "./input-files.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-csv-"));
after(() => rmSync(folder, { recursive: true }));

const FIELD = fileURLToPath(new URL("../../test/cases/field/", import.meta.url));

type Prices = Readonly<Record<string, Readonly<Record<string, number>>>>;

async function readAt(path: string, options?: FileOptions): Promise<Prices> {
  const { tickers } = await readPriceFile(path, options);
  return Object.fromEntries(
    tickers.map(({ ticker, days, prices }) => [
      ticker,
      Object.fromEntries([...days].map((day, i) => [formatDay(day), prices[i]!])),
    ]),
  );
}

function read(text: string | Uint8Array, options?: FileOptions): Promise<Prices> {
  const path = join(folder, "prices.csv");
  writeFileSync(path, text);
  return readAt(path, options);
}

async function refusal(text: string | Uint8Array, code = "invalid_data", options?: FileOptions) {
  const error = await read(text, options)
    .then(() => assert.fail(`${text} was read`))
    .catch((error: unknown) => error);
  assert.ok(error instanceof MucastError && error.code === code, String(error));
  return error;
}

describe("the files of vendors", () => {
  const one = { A: { "2020-01-02": 1.5, "2020-01-13": 2345 } };
  const files: readonly (readonly [name: string, text: string | Uint8Array, options: FileOptions, Prices])[] =
    [
      [
        "yfinance, one header row",
        "Date,Open,High,Low,Close,Adj Close,Volume\n2020-01-02,9,9,9,9,1.5,100\n2020-01-13,9,9,9,9,2345,100\n",
        { ticker: "A" },
        one,
      ],
      [
        "yfinance, two header rows",
        ",Close,Close,Volume,Volume\nDate,A,B,A,B\n2020-01-02,1.5,7,100,100\n2020-01-13,2345,,100,\n",
        {},
        { ...one, B: { "2020-01-02": 7 } },
      ],
      [
        "yfinance, three header rows",
        "Ticker,A,A,B,B\nPrice,Close,Volume,Close,Volume\nDate,,,,\n2020-01-02,1.5,100,7,100\n2020-01-13,2345,100,,\n",
        {},
        { ...one, B: { "2020-01-02": 7 } },
      ],
      [
        "Stooq",
        "Date,Open,High,Low,Close,Volume\r\n2020-01-02,9,9,9,1.5,10\r\n2020-01-13,9,9,9,2345,10\r\n",
        { ticker: "A" },
        one,
      ],
      [
        "Stooq in bulk",
        "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\nA.US,D,20200102,000000,9,9,9,1.5,10,0\n",
        {},
        { "A.US": { "2020-01-02": 1.5 } },
      ],
      [
        "Alpha Vantage, the newest first",
        "timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient\n2020-01-13,9,9,9,9,2345,10,0.0000,1.0\n2020-01-02,9,9,9,9,1.5,10,0.0000,1.0\n",
        { ticker: "A" },
        one,
      ],
      [
        "Tiingo",
        "date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n2020-01-02T00:00:00+00:00,9,9,9,9,10,1.5,9,9,9,10,0.0,1.0\n2020-01-13T00:00:00+00:00,9,9,9,9,10,2345,9,9,9,10,0.0,1.0\n",
        { ticker: "A" },
        one,
      ],
      [
        "Binance, in milliseconds",
        "open_time,open,high,low,close,volume,close_time,quote_volume,count\n1577923200000,9,9,9,1.5,10,1578009599999,10,4\n1578873600000,9,9,9,2345,10,1578959999999,10,4\n",
        { ticker: "A" },
        one,
      ],
      [
        "Binance, in microseconds",
        "Open time,Open,High,Low,Close,Volume,Close time\n1577923200000000,9,9,9,1.5,10,1578009599999999\n1578873600000000,9,9,9,2345,10,1578959999999999\n",
        { ticker: "A" },
        one,
      ],
      [
        "TradingView, ISO time",
        "time,open,high,low,close\n2020-01-02,9,9,9,1.5\n2020-01-13,9,9,9,2345\n",
        { ticker: "A" },
        one,
      ],
      [
        "TradingView, seconds at the open of New York",
        "time,open,high,low,close,Volume\n1577975400,9,9,9,1.5,10\n1578925800,9,9,9,2345,10\n",
        { ticker: "A", zone: zoneCalendar("America/New_York") },
        one,
      ],
      ["Excel of Germany", "\uFEFFDate;A\r\n02.01.2020;1,5\r\n13.01.2020;2.345\r\n", {}, one],
      ["Excel of the United States", 'Date,A\r\n1/2/2020,1.50\r\n1/13/2020,"2,345.00"\r\n', {}, one],
      ["an index of pandas", ",A,B\n2020-01-02 00:00:00,1.5,\n2020-01-13 00:00:00,2345,\n", {}, one],
      ["row numbers of pandas", "Unnamed: 0\tDate\tA\n0\t2020-01-02\t1.5\n1\t2020-01-13\t2345\n", {}, one],
      ["gzip", gzipSync("A|timestamp\n2345|20200113\n1.5|20200102\n"), {}, one],
      [
        "quotes",
        '"Date", "A" ,"B ""2"", old"\n"2020-01-02","1.5",""\n"2020-01-13"," 2345 ","3"\n',
        {},
        { ...one, 'B "2", old': { "2020-01-13": 3 } },
      ],
      [
        "blank lines, old line ends and a delimiter too many",
        "\r\rDate,A\r2020-01-02,1.5,\r,\r\n13 Jan 2020,2345\n",
        {},
        one,
      ],
      [
        "names like numbers and like JavaScript",
        "Date,10,9,__proto__\n2020-01-02,1,2,3\n",
        {},
        JSON.parse('{"10":{"2020-01-02":1},"9":{"2020-01-02":2},"__proto__":{"2020-01-02":3}}'),
      ],
    ];
  for (const [name, text, options, prices] of files)
    test(`${name}`, async () => assert.deepEqual(await read(text, options), prices));

  const corpus: {
    readonly prices: readonly { name: string; text?: string; flags: readonly string[]; prices: Prices }[];
    readonly refused: readonly { name: string; text: string; says: string }[];
  } = JSON.parse(readFileSync(join(FIELD, "columns.json"), "utf8"));
  for (const { name, text, flags, prices } of corpus.prices)
    test(`${name} has the prices that pandas reads`, async () => {
      const options = { ticker: flags[1] };
      const found =
        text === undefined
          ? await readAt(join(FIELD, name), options)
          : await read(Buffer.from(text, "latin1"), options);
      assert.deepEqual(found, prices);
    });
  for (const { name, text, says } of corpus.refused)
    test(`${name} is refused in words`, async () => {
      const { message } = await refusal(Buffer.from(text, "latin1"));
      assert.ok(message.includes(says), message);
    });
});

/** The dates of a column with these texts. */
async function datesOf(texts: readonly string[], options?: FileOptions): Promise<string[]> {
  const rows = texts.map((text, i) => `"${text}",${i + 1}`);
  const { A } = await read(["Date,A", ...rows].join("\n"), options);
  return Object.entries(A!)
    .sort(([, a], [, b]) => a - b)
    .map(([date]) => date);
}

describe("dates", () => {
  test("have one meaning in each common form", async () => {
    for (const text of [
      ...["2020-03-04", "2020-03-04T00:00:00Z", "2020-03-04 00:00:00+09:00", "20200304", "20200304 12:00 AM"],
      ...["2020/03/04", "2020/3/4", "2020-3-4", "2020.03.04", "2020/3/4 0:00", " 2020-03-04 "],
      ...[
        "4-Mar-2020",
        "04 Mar 2020",
        "04MAR2020",
        "4 March 2020",
        "Mar 4, 2020",
        "March 04 2020",
        "Mar. 4, 2020",
      ],
      ...["1583280000", "1583280000000", "1583280000000000", "1583280000000000000"],
    ])
      assert.deepEqual(await datesOf([text]), ["2020-03-04"], text);
  });

  test("are refused with the line if they are none, with what they may mean", async () => {
    for (const [text, words] of [
      ...["", "x", "2020-13-01", "2021-02-29", "31/31/2020", "30/2/2020", "4-Mrz-2020", "2020-03"].map(
        (text) => [text, /is not a date$/] as const,
      ),
      ...["Marching 4, 2020", "2020-03-04 garbage", "20200304 25:00"].map(
        (text) => [text, /is not a date$/] as const,
      ),
      ["43831", /as a day number of a spreadsheet it would be 2020-01-01: write dates as YYYY-MM-DD$/],
      ["1/31/20", /a year of two digits may be of either century/],
      ["2020-03-04 16:00", /is not midnight in its own zone/],
      ["1583330400000", /is not midnight in its own zone/],
    ] as const) {
      const { message, data } = await refusal(`Date,A\n2020-01-01,1\n"${text}",2\n`);
      assert.match(message, words, text);
      assert.equal(data.line, 3);
    }
  });

  test("have the order of day and month that any of them shows, or the option names, and no other", async () => {
    const day = fc.integer({ min: 0, max: 25_000 }).map(formatDay);
    const days = fc.uniqueArray(day, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(days, fc.boolean(), async (days, isDayFirst) => {
        const texts = days.map((iso) => {
          const [year, month, date] = iso.split("-").map(Number);
          return isDayFirst ? `${date}/${month}/${year}` : `${month}/${date}/${year}`;
        });
        const isShown = days.some((iso) => Number(iso.slice(8)) > 12);
        const isSame = days.every((iso) => iso.slice(5, 7) === iso.slice(8));
        if (isShown || isSame) assert.deepEqual(await datesOf(texts), days);
        else await assert.rejects(datesOf(texts), /can be read day first or month first.*--date-format/);
        const dateFormat = isDayFirst ? "DD/MM/YYYY" : "MM/DD/YYYY";
        assert.deepEqual(await datesOf(texts, { dateFormat }), days);
      }),
      { numRuns: 60 },
    );
    const { message, data } = await refusal("Date,A\n3/4/2020,1\n13/4/2020,1\n4/14/2020,1\n");
    assert.match(message, /line 4: "4\/14\/2020".*"13\/4\/2020" \(line 3\)/);
    assert.equal(data.line, 4);
    for (const texts of [
      ["3/30/2020", "2/30/2020"],
      ["13/1/2020", "31/4/2020"],
    ])
      await assert.rejects(datesOf(texts), /line 3: .* is not a date/);
    await assert.rejects(datesOf(["13/1/2020"], { dateFormat: "MM/DD/YYYY" }), /is not a date/);
  });
});

/** The prices of a column with these texts on following dates; NaN if missing. */
async function numbersOf(...texts: string[]): Promise<number[]> {
  const date = (i: number) => formatDay(18_000 + i);
  const rows = texts.map((text, i) => `${date(i)};"${text}";1`);
  const { A } = await read(["Date;A;one", ...rows].join("\n"));
  return texts.map((_, i) => A?.[date(i)] ?? Number.NaN);
}

describe("numbers", () => {
  test("have the bits that JavaScript reads", async () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true });
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1 }), async (values) => {
        assert.deepEqual(await numbersOf("0.5", ...values.map(String)), [
          0.5,
          ...values.map((value) => Number(String(value))),
        ]);
      }),
      { numRuns: 40 },
    );
    assert.deepEqual(
      await numbersOf("1.", ".5", "+2", "-3", "1e3", "1.5E-3", " 7 "),
      [1, 0.5, 2, -3, 1000, 0.0015, 7],
    );
  });

  test("are missing where vendors write that", async () => {
    const texts = [
      "",
      " ",
      "NA",
      "n/a",
      "#N/A",
      "#N/A N/A",
      "NaN",
      "NULL",
      "None",
      "-",
      "--",
      ".",
      "nil",
      "NaT",
      "-Infinity",
      "1e999",
    ];
    assert.deepEqual(await numbersOf("1", ...texts), [1, ...texts.map(() => Number.NaN)]);
  });

  test("have the decimal mark that the file shows, and no other", async () => {
    assert.deepEqual(await numbersOf("1,234.50", "2,345", "12"), [1234.5, 2345, 12]);
    assert.deepEqual(await numbersOf("1,234,567"), [1234567]);
    assert.deepEqual(await numbersOf("1.234,50", "2.345", "2,345"), [1234.5, 2345, 2.345]);
    assert.deepEqual(await numbersOf("12,5", "1.234", "1,5e1"), [12.5, 1234, 15]);
    assert.deepEqual(await numbersOf("1.234", "64.561", "1e3"), [1.234, 64.561, 1000]);
    await assert.rejects(
      numbersOf("5", "1,234"),
      /the comma in "1,234" \(line 3, "A"\) can separate thousands/,
    );
    await assert.rejects(
      numbersOf("999", "1.234"),
      /the point in "1.234" \(line 3, "A"\) can separate thousands/,
    );
    await assert.rejects(
      numbersOf(" 999", " 1.234 "),
      /the point in "1.234" \(line 3, "A"\) can separate thousands/,
    );
    await assert.rejects(
      numbersOf("1.5", "1,5"),
      /the decimal mark changes: "1.5" \(line 2, .* "1,5" \(line 3, /,
    );
  });

  test("are refused with the line and the column if they are none", async () => {
    for (const text of ["x", "1 234", "1,23,4.5", "1..2", "0x10", "1_000", "12%", "1,2,3", "e5", "NaN1"])
      await assert.rejects(numbersOf("1", text), /line 3, "A"\) is not a number/, text);
    await assert.rejects(numbersOf("$1.50"), /write numbers without a currency sign$/);
    await assert.rejects(numbersOf("EUR"), /leave out columns that are neither prices nor features$/);
  });
});

describe("rows", () => {
  test("of prices that are missing are dropped, and those of zero and below stay", async () => {
    const text = "Date,b,B,A\n2020-01-02,,0,NA\n2020-01-03,1,-2,null\n2020-01-06,#N/A,,nan\n";
    assert.deepEqual(await read(text), { B: { "2020-01-02": 0, "2020-01-03": -2 }, b: { "2020-01-03": 1 } });
    const { tickers, unpriced } = await readPriceFile(join(folder, "prices.csv"));
    assert.deepEqual([tickers.map(({ ticker }) => ticker), unpriced], [["B", "b"], ["A"]]);
  });

  test("may have any order, as columns may", async () => {
    const row = fc.tuple(
      fc.nat(400),
      fc.constantFrom("A", "B", "c"),
      fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
    );
    const selector = ([day, ticker]: [number, string, number]) => `${day} ${ticker}`;
    const rows = fc.uniqueArray(row, { minLength: 1, maxLength: 40, selector });
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom(",", ";", "\t"), async (rows, delimiter) => {
        const expected: Record<string, Record<string, number>> = {};
        for (const [day, ticker, price] of rows)
          expected[ticker] = { ...expected[ticker], [formatDay(day)]: price };
        const lines = rows.map(([day, ticker, price]) => [ticker, price, formatDay(day)].join(delimiter));
        assert.deepEqual(
          await read([["Symbol", "Price", "Date"].join(delimiter), ...lines].join("\r\n")),
          expected,
        );
      }),
      { numRuns: 40 },
    );
  });

  test("are refused with their line if they are cut, too long, without a ticker or second ones of a date", async () => {
    for (const [text, line, words] of [
      ["Date,A,B\n2020-01-02,1,2\n2020-01-03,1\n", 3, /line 3 has 2 cells, the header has 3/],
      ["Date,A,B\n2020-01-02,1,2,3\n", 2, /line 2 has 4 cells/],
      ["Date,Ticker,Close\n2020-01-02,,1\n", 2, /line 2 has no ticker/],
      [
        "Date,Ticker,Close\n2020-01-02,A,1\n2020-01-02,B,1\n2020-01-02T00:00,A,\n",
        4,
        /line 4 gives A a second price for 2020-01-02, after line 2/,
      ],
      ["Date,A\n2020-01-02,1\n2020-01-03,1\n20200102,1\n", 4, /a second price for 2020-01-02, after line 2/],
      ['Date,A\n2020-01-02,"1\n', 2, /line 2: a quote is not closed/],
      // As an editor counts them.
      ['Date,"A\nB",C\n2020-01-02,1,2\n\n2020-01-03,1,x\n', 5, /"x" \(line 5, "C"\)/],
    ] as const) {
      const { message, data } = await refusal(text);
      assert.match(message, words);
      assert.equal(data.line, line);
    }
  });

  test("of more tickers than jobs accept are refused with the line of the first", async () => {
    for (const [text, line] of [
      ["Date,A,B,C\n2020-01-02,1,2,bad\n", 1],
      ["Date,Ticker,Close\n2020-01-02,A,1\n2020-01-02,B,1\n2020-01-03,A,1\n2020-01-03,C,1\n", 5],
    ] as const) {
      const { message } = await refusal(text, "too_large", { tickers: 2 });
      assert.match(
        message,
        new RegExp(`line ${line} makes 3 tickers, and 2 are allowed \\(MUCAST_BLOB_TICKERS\\)$`),
      );
    }
  });
});

test("a header that fits no layout is refused with what would fit", async () => {
  for (const [text, words] of [
    ["A,B\n1,2\n", /no date column; its columns are "A", "B"/],
    ["Date\n2020-01-02\n", /no ticker column/],
    ["Date,Ticker,NAV,Volume\n2020-01-02,A,1,2\n", /ticker column, "Ticker", but no price column/],
    ["Date,A,A\n2020-01-02,1,2\n", /two columns called "A"/],
    ["Date,Ticker,Close,close\n2020-01-02,A,1,2\n", /two columns "Close" and "close" for one price/],
  ] as const)
    assert.match((await refusal(text)).message, words);
  assert.deepEqual(await read("Date,A,TIC\n2020-01-02,1,2\n"), {
    A: { "2020-01-02": 1 },
    TIC: { "2020-01-02": 2 },
  });
});

test("other encodings, and files without a price, are refused", async () => {
  assert.match((await refusal(Buffer.from("Date,Caf\xe9\n2020-01-02,1\n", "latin1"))).message, /UTF-8/);
  assert.match((await refusal(Buffer.from("\uFEFFDate,A\n", "utf16le"))).message, /UTF-8/);
  for (const text of ["", "\n\n", "Date,A\n", "Date,A\n2020-01-02,\n"]) await refusal(text);
  for (const text of [
    '{"dates": ["2020-01-02"]}',
    '\uFEFF\n [{"date": "2020-01-02", "A": 1}]',
    "{}",
    "[[1, 2]]",
  ])
    assert.match((await refusal(text)).message, /is JSON; prepare reads CSV and Parquet$/);
  assert.deepEqual(await read("{A},Date\n1,2020-01-02\n"), { "{A}": { "2020-01-02": 1 } });
  await refusal(gzipSync("Date,A\n2020-01-02,1\n").subarray(0, 30), "unreadable_blob");
});

test("records do not depend on where the chunks of a file end", async () => {
  const bytes = Buffer.from('\uFEFFa,"b\r\né"\r\n1,2\r\r"x ""y"",",3\n\r\nü,4');
  for (const size of bytes.keys()) {
    async function* chunks() {
      for (let from = 0; from < bytes.length; from += size + 1) yield bytes.subarray(from, from + size + 1);
    }
    const records: unknown[] = [];
    for await (const each of recordsOf({ name: "prices.csv", chunks: chunks() })) records.push(...each);
    assert.deepEqual(records, [
      { cells: ["a", "b\né"], line: 2 },
      { cells: ["1", "2"], line: 3 },
      { cells: ['x "y",', "3"], line: 5 },
      { cells: ["ü", "4"], line: 7 },
    ]);
  }
});
