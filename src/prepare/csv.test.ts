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

/** What vendors and programs write, with the prices in it; and what is said of a file that cannot be read. */
const CASES: {
  readonly read: readonly { name: string; text: string; ticker?: string; zone?: string; prices: Prices }[];
  readonly refused: readonly { text: string; says: string; line?: number; code?: string; tickers?: number }[];
} = JSON.parse(readFileSync(new URL("../../test/cases/csv/cases.json", import.meta.url), "utf8"));
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
  for (const { name, text, ticker, zone, prices } of CASES.read)
    test(name, async () => {
      const options = { ticker, zone: zone === undefined ? undefined : zoneCalendar(zone) };
      assert.deepEqual(await read(text, options), prices);
    });

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
});

test("a table may have a ticker called TIC, and a name in braces", async () => {
  assert.deepEqual(await read("Date,A,TIC\n2020-01-02,1,2\n"), {
    A: { "2020-01-02": 1 },
    TIC: { "2020-01-02": 2 },
  });
  assert.deepEqual(await read("{A},Date\n1,2020-01-02\n"), { "{A}": { "2020-01-02": 1 } });
});

for (const { text, says, line, code, tickers } of CASES.refused)
  test(`a table is refused: ${JSON.stringify(text)}`, async () => {
    const { message, data } = await refusal(text, code, { tickers });
    assert.deepEqual([message.replace(folder, "").slice(1), data.line], [says, line]);
  });

test("other encodings and a cut file are refused", async () => {
  assert.match((await refusal(Buffer.from("Date,Caf\xe9\n2020-01-02,1\n", "latin1"))).message, /UTF-8/);
  assert.match((await refusal(Buffer.from("\uFEFFDate,A\n", "utf16le"))).message, /UTF-8/);
  await refusal(gzipSync("Date,A\n2020-01-02,1\n").subarray(0, 30), "unreadable_blob");
});

test("a file may be gzipped, and in any delimiter", async () => {
  const text = gzipSync("A|timestamp\n2345|20200113\n1.5|20200102\n");
  assert.deepEqual(await read(text), { A: { "2020-01-02": 1.5, "2020-01-13": 2345 } });
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
