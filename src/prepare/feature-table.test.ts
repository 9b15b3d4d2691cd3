import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { parquetBytes } from "../tables/write-parquet.ts";
import { FEATURE_NAMES } from "./features.ts";
import { type PrepareOptions, preparePrices } from "./prepare-prices.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-tables-"));
after(() => rmSync(root, { recursive: true }));

let files = 0;
function file(name: string, content: string | Uint8Array): string {
  const path = join(root, `${files++}-${name}`);
  writeFileSync(path, content);
  return path;
}

const FIRST = parseDay("2020-01-06")!;
const dateAt = (i: number) => formatDay(FIRST + i);
/** Prices of A and B on five dates. B has none on the third. */
const PRICES = [
  "Date,A,B",
  "2020-01-06,1,9",
  "2020-01-07,2,8",
  "2020-01-08,3,",
  "2020-01-09,4,6",
  "2020-01-10,5,5",
];
const pricesPath = file("prices.csv", PRICES.join("\n"));

interface Cells {
  readonly [ticker: string]: { readonly [feature: string]: readonly (number | null)[] };
}

async function prepare(features: string | undefined, options: PrepareOptions = {}, prices = pricesPath) {
  const said: string[] = [];
  const prepared = await preparePrices({
    csvPath: prices,
    featuresPath: features,
    outFolder: join(root, `out-${files++}`),
    options,
    report: (sentence) => void said.push(sentence),
  });
  const text = readFileSync(prepared.featurePath, "utf8");
  return {
    ...prepared,
    said: said.slice(1).map((sentence) => sentence.replaceAll(`${root}/`, "")),
    text,
    pricesText: readFileSync(prepared.dataExtractorPath, "utf8"),
    cells: options.format === "parquet" ? {} : (JSON.parse(text).features as Cells),
  };
}

const only = { onlyFeatures: true };
/** A Parquet table of these series. */
function parquet(series: readonly TickerSeries[], metadata = {}): Promise<Uint8Array> {
  const columns = [
    { name: "date", kind: "day" } as const,
    { name: "ticker", kind: "text" } as const,
    ...series[0]!.columns.map((name) => ({ name, kind: "double" }) as const),
  ];
  const parts = series.map(({ ticker, days, columns: names, values }) => {
    const cells = names.map((_, c) => values.subarray(c * days.length, (c + 1) * days.length));
    return { count: days.length, values: [days, ticker, ...cells] };
  });
  const table = { columns, compression: "snappy", version: "v2", metadata } as const;
  return buffer(parquetBytes(table, parts));
}

describe("a table of features", () => {
  const OWN = "date,ticker,pe,flow\n2020-01-07,A,1.5,\n2020-01-06,B,7,2\n2020-01-10,A,3,-4e-3\n";

  it("follows the features of prepare, or replaces them, and keeps each value on its ticker and date", async () => {
    const own = { A: { pe: [null, 1.5, null, null, 3], flow: [null, null, null, null, -0.004] } };
    const other = { B: { pe: [7, null, null, null, null], flow: [2, null, null, null, null] } };
    const path = file("own.csv", OWN);
    const alone = await prepare(path, only);
    assert.deepEqual(alone.cells, { ...own, ...other });
    assert.deepEqual([alone.features, alone.said], [["pe", "flow"], []]);
    const both = await prepare(path);
    assert.deepEqual(both.features, [...FEATURE_NAMES, "pe", "flow"]);
    assert.deepEqual(Object.keys(both.cells.B!), both.features);
    const computed = await prepare(undefined);
    for (const [ticker, added] of Object.entries({ ...own, ...other }))
      assert.deepEqual(both.cells[ticker], { ...computed.cells[ticker], ...added });
    assert.equal(both.pricesText, computed.pricesText);
    const ids = new Set([alone.id, both.id, computed.id]);
    assert.equal(ids.size, 3);
    assert.equal((await prepare(file("own.csv.gz", gzipSync(OWN)), only)).id, alone.id);
    assert.notEqual((await prepare(file("own.csv", OWN.replace("1.5", "1.6")), only)).id, alone.id);
  });

  it("may have other delimiters, decimal commas, names, an index and missing values of a CSV of prices", async () => {
    const path = file(
      "own.csv",
      'Unnamed: 0;Trade Date;Symbol;"x y"\n0;6/1/2020;A;1,5\n1;13/1/2020;A;#N/A\n2;10.1.2020;A;inf\n',
    );
    const { cells, said } = await prepare(path, only);
    assert.deepEqual(cells.A, { "x y": [1.5, null, null, null, null] });
    assert.match(said[0]!, /^warning: B has no row in \d+-own\.csv; its features of that file are null$/);
  });

  it("keeps a column that numbers the rows of one ticker alone, in its place for all", async () => {
    const days = Int32Array.from({ length: 5 }, (_, i) => FIRST + i);
    const of = (ticker: string, index: readonly number[]): TickerSeries => ({
      ...{ ticker, days, columns: ["index", "own"] },
      values: Float64Array.from([...index, 7, 7, 7, 7, 7]),
    });
    const series = [of("A", [0, 1, 2, 3, 4]), of("B", [9, 8, 30, 31, 32])];
    for (const order of [series, series.toReversed()]) {
      const { cells } = await prepare(file("own.parquet", await parquet(order)));
      assert.deepEqual(cells.A!.index, [0, 1, 2, 3, 4]);
      assert.deepEqual([cells.A!.own, cells.B!.own![0]], [[7, 7, 7, 7, 7], 7]);
    }
  });

  it("is the same as Parquet, for jobs and in its id", async () => {
    const days = Int32Array.of(FIRST, FIRST + 1, FIRST + 4);
    const values = Float64Array.of(1, Number.NaN, 1 / 3, -2, 3e-300, 4);
    const columns = ["pe", "flow"];
    const series = ["A", "B"].map((ticker) => ({ ticker, days, columns, values }));
    const rows = series.flatMap(({ ticker }) =>
      Array.from(days, (day, i) => [formatDay(day), ticker, values[i], values[3 + i]].join(",")),
    );
    const csv = await prepare(file("own.csv", ["date,ticker,pe,flow", ...rows].join("\n")));
    const table = await prepare(file("own.parquet", await parquet(series)));
    assert.deepEqual([table.id, table.text], [csv.id, csv.text]);
  });

  it("reports what is not used of it", async () => {
    const path = file(
      "own.csv",
      "date,ticker,x,y\n2020-01-05,A,1,\n2020-01-06,A,1,\n2020-01-08,B,2,\n2020-01-06,C,1,2\n2020-01-09,A,1,\n",
    );
    const { said } = await prepare(path, { ...only, start: "2020-01-07" });
    assert.deepEqual(
      said.map((sentence) => sentence.replace(/\d+-own/, "own")),
      [
        "warning: C of own.csv has no price and is left out",
        'warning: the feature "y" of own.csv has no value',
      ],
    );
    const gap = file("prices.csv", PRICES.filter((line) => !line.startsWith("2020-01-08")).join("\n"));
    const { said: more } = await prepare(path, { ...only, tickers: ["A", "B"] }, gap);
    assert.match(
      more[0]!,
      /^warning: 1 row of .*own\.csv is on a date without a price, such as 2020-01-08; features may be dated a day early or late$/,
    );
    assert.equal(more.length, 2);
  });

  it("is refused, with the line, where it is ambiguous or wrong", async () => {
    const row = "date,ticker,x\n2020-01-06,A,1\n";
    const many = Array.from({ length: 9_975 }, (_, c) => `c${c}`);
    for (const [content, message, options = only] of [
      [`${row}2020-01-07,A,abc\n`, /"abc" \(line 3, "x"\) is not a number/],
      [`${row}2020-01-06,A,2\n`, /line 3 gives A a second row for 2020-01-06, after line 2/],
      ["date,A,B\n2020-01-06,1,2\n", /has no ticker column; its columns are "date", "A", "B"/],
      ["ticker,x\nA,2\n", /has no date column/],
      ["date,ticker\n2020-01-06,A\n", /no column of a feature/],
      ["date,ticker,x,x\n2020-01-06,A,1,1\n", /has two columns called "x"/],
      ["date,ticker,x\n", /has no row/],
      [
        row.replace("A", "Z"),
        /no ticker of the table has a price: its first is "Z", the first with prices "A"/,
      ],
      [row.replace("2020", "2021"), /no row of the table is on a price date from 2020-01-06 to 2020-01-10/],
      [
        row.replace("x", "time stamp"),
        /a feature cannot be called "time stamp", because blobs call a date so/,
      ],
      [row.replace("x", "mom_1"), /prepare computes a feature called "mom_1" itself/, {}],
      [
        `date,ticker,${many}\n2020-01-06,A,${many.fill("1")}\n`,
        /10001 features are more than the 10000 that a blob may have/,
        {},
      ],
    ] as const satisfies readonly (readonly [string, RegExp, PrepareOptions?])[])
      await assert.rejects(prepare(file("own.csv", content), options), { message });
    await assert.rejects(prepare(undefined, only), { message: /needs a table of features/ });
  });

  it("has the same values up to a date, whatever its later rows and prices are", async () => {
    const rows = fc.array(fc.tuple(fc.nat(4), fc.constantFrom("A", "B"), fc.double({ noNaN: true })), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(rows, fc.nat(4), async (found, last) => {
        const distinct = [...new Map(found.map((row) => [`${row[0]} ${row[1]}`, row])).values()];
        const csv = (kept: typeof distinct) =>
          file(
            "own.csv",
            ["date,ticker,x", ...kept.map(([i, ticker, x]) => `${dateAt(i)},${ticker},${x}`)].join("\n"),
          );
        const whole = await prepare(csv(distinct), only);
        const earlier = distinct.filter(([i]) => i <= last);
        if (earlier.length === 0) return;
        const cut = await prepare(csv(earlier), { ...only, end: dateAt(last) });
        for (const ticker of ["A", "B"])
          assert.deepEqual(cut.cells[ticker]!.x, whole.cells[ticker]!.x!.slice(0, last + 1));
      }),
      { numRuns: 20 },
    );
  });
});

describe("Parquet prices", () => {
  const days = Int32Array.from({ length: 5 }, (_, i) => FIRST + i);
  const long = [
    { ticker: "A", days, columns: ["price"], values: Float64Array.of(1, 2, 3, 4, 5) },
    { ticker: "B", days, columns: ["price"], values: Float64Array.of(9, 8, Number.NaN, 6, 5) },
  ];

  it("give the blobs of the same prices as CSV", async () => {
    const csv = await prepare(undefined);
    const table = await prepare(undefined, {}, file("prices.parquet", await parquet(long)));
    assert.deepEqual([table.id, table.text, table.pricesText], [csv.id, csv.text, csv.pricesText]);
    const unpriced = { ticker: "C", days, columns: ["price"], values: new Float64Array(5).fill(Number.NaN) };
    const more = await prepare(undefined, {}, file("prices.parquet", await parquet([...long, unpriced])));
    assert.deepEqual([more.id, more.said], [csv.id, ["warning: C has no price and is left out"]]);
    const none = file("prices.parquet", await parquet([unpriced]));
    await assert.rejects(prepare(undefined, {}, none), {
      code: "invalid_data",
      message: /contains no price/,
    });
  });

  it("may have a window in the metadata, which a flag must not contradict", async () => {
    const window = { start: dateAt(1), Learning_end: dateAt(3) };
    const path = file("prices.parquet", await parquet(long, window));
    const { start, end, learningEnd } = await prepare(undefined, { learningEnd: dateAt(3) }, path);
    assert.deepEqual([start, end, learningEnd], [dateAt(1), dateAt(4), dateAt(3)]);
    const other = { learningEnd: dateAt(2) };
    await assert.rejects(prepare(undefined, other, path), {
      code: "invalid_request",
      message: /^learning_end: 2020-01-08 differs from 2020-01-09 in the metadata of .*prices\.parquet$/,
    });
  });

  it("are refused with the reason of a job, and beyond the values of a CSV of the allowed size", async () => {
    const bytes = await parquet(long.map((series) => ({ ...series, columns: ["volume"] })));
    const path = file("prices.parquet", bytes);
    await assert.rejects(prepare(undefined, {}, path), { code: "invalid_data", message: /no price column/ });
    const many = Int32Array.from({ length: 200 }, (_, i) => i);
    const values = new Float64Array(200).fill(1);
    const tickers = Array.from({ length: 500 }, (_, t) => `T${t}`);
    const repeated = tickers.map((ticker) => ({ ticker, days: many, columns: ["price"], values }));
    const large = file("prices.parquet", await parquet(repeated));
    const request = { csvPath: large, outFolder: join(root, "large") };
    await assert.rejects(preparePrices({ ...request, limits: { csvBytes: 99_999 } }), {
      code: "too_large",
      message: /more than 49999 values/,
    });
  });
});
