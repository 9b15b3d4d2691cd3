import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay, parseDay } from "../contract/market/dates.ts";
import { readBytes } from "../ingest/read-bytes.testing.ts";
import { FEATURE_NAMES } from "./features.ts";
import { type PrepareOptions, type PrepareProgress, preparePrices } from "./prepare-prices.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-prepare-"));
after(() => rmSync(root, { recursive: true }));

let folders = 0;
function fresh(): string {
  return join(root, `${folders++}`);
}

type Prices = Readonly<Record<string, readonly (number | null)[]>>;
const FIRST = parseDay("2020-01-01")!;
const dateAt = (i: number) => formatDay(FIRST + i);

function csvOf(prices: Prices): string {
  const tickers = Object.keys(prices);
  const rows = prices[tickers[0]!]!.map((_, i) => [
    dateAt(i),
    ...tickers.map((ticker) => prices[ticker]![i] ?? ""),
  ]);
  const path = `${fresh()}.csv`;
  writeFileSync(path, [["Date", ...tickers], ...rows].map((row) => row.join(",")).join("\n"));
  return path;
}

interface Blobs {
  prices: {
    start: string;
    end: string;
    Learning_end?: string;
    dates: string[];
    prices: Record<string, (number | null)[]>;
  };
  features: { dates: string[]; features: Record<string, Record<string, (number | null)[]>> };
}

async function prepare(prices: Prices, options: PrepareOptions = {}) {
  const prepared = await preparePrices({ csvPath: csvOf(prices), outFolder: fresh(), options });
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const blobs: Blobs = { prices: read(prepared.dataExtractorPath), features: read(prepared.featurePath) };
  return { prepared, ...blobs };
}

async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

/** A repeatable random walk without a library. */
function walkOf(seed: number, length: number): number[] {
  let state = seed;
  let price = 20 + seed;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    price *= Math.exp((state / 2 ** 31 - 0.49) / 20);
    return Math.round(price * 1000) / 1000;
  });
}

test("writes both blobs in the canonical layout, with at least 17 features, under names with one id", async () => {
  const A = walkOf(1, 140);
  const { prepared, prices, features } = await prepare(
    { B: walkOf(2, 140), A },
    { learningEnd: dateAt(100) },
  );
  assert.match(prepared.dataExtractorPath, new RegExp(`/data/data_extractor_${prepared.id}\\.json$`));
  assert.match(prepared.featurePath, new RegExp(`/data/feature_engine_${prepared.id}\\.json$`));
  assert.deepEqual(Object.keys(prices), ["start", "end", "Learning_end", "dates", "prices"]);
  assert.deepEqual([prices.start, prices.end, prices.Learning_end], [dateAt(0), dateAt(139), dateAt(100)]);
  assert.deepEqual(prices.prices.A, A);
  assert.deepEqual(features.dates, prices.dates);
  assert.deepEqual(Object.keys(features.features), ["A", "B"]);
  assert.deepEqual(Object.keys(features.features.A!), FEATURE_NAMES);
  assert.ok(FEATURE_NAMES.length >= 17);
  assert.ok(Object.values(features.features.A!).every((column) => column.length === 140));
  assert.ok(Object.values(features.features.A!).every((column) => column.at(-1) !== null));
});

test("features are on a ticker's own price dates: a gap moves them, and stays null", async () => {
  const dense = walkOf(4, 60);
  const gappy = dense.flatMap((price, i) => (i % 7 === 3 ? [null, price] : [price]));
  const padded = { A: gappy, B: walkOf(5, gappy.length) };
  const { features } = await prepare(padded);
  const { features: plain } = await prepare({ A: dense });
  const own = (column: (number | null)[]) => column.filter((_, i) => gappy[i] !== null);
  for (const name of FEATURE_NAMES.filter((name) => !/^(rel|rank|weekday)/.test(name))) {
    assert.deepEqual(own(features.features.A![name]!), plain.features.A![name]!, name);
    assert.ok(gappy.every((price, i) => price !== null || features.features.A![name]![i] === null));
  }
});

test("writes and reports a zero or negative price, which features ignore", async () => {
  const A: (number | null)[] = walkOf(1, 30);
  A[10] = 0;
  A[11] = -3;
  const reported: string[] = [];
  const outFolder = fresh();
  const request = { csvPath: csvOf({ A }), outFolder, report: (line: string) => void reported.push(line) };
  const { dataExtractorPath, featurePath } = await preparePrices(request);
  assert.deepEqual(JSON.parse(readFileSync(dataExtractorPath, "utf8")).prices.A, A);
  assert.match(reported.join("\n"), /A: 2 prices are zero or negative/);
  const { mom_1: momentum } = JSON.parse(readFileSync(featurePath, "utf8")).features.A;
  assert.deepEqual([momentum[10], momentum[11], momentum[12]], [null, null, Math.log(A[12]! / A[9]!)]);
});

test("reports a ticker whose prices are too far apart for labels, with the typical distance", async () => {
  const [daily, monthly] = [walkOf(1, 200), walkOf(2, 200).map((price, i) => (i % 30 === 0 ? price : null))];
  const reported: string[] = [];
  const request = { outFolder: fresh(), report: (line: string) => void reported.push(line) };
  await preparePrices({ ...request, csvPath: csvOf({ DAILY: daily, MONTHLY: monthly }) });
  assert.deepEqual(reported.slice(1), [
    "warning: MONTHLY has prices 30 calendar days apart (median), and a label needs the next one within 10: " +
      "no job can learn from it; give daily or weekly prices",
  ]);
});

/** The sentences about a wide CSV of A with a price on each date, in the order of the file, without the summary. */
async function saidOf(dates: readonly string[], options: PrepareOptions = {}): Promise<string[]> {
  const csvPath = `${fresh()}.csv`;
  writeFileSync(csvPath, ["Date,A", ...dates.map((date) => `${date},1`)].join("\n"));
  const reported: string[] = [];
  const report = (line: string) => void reported.push(line.replace(csvPath, "prices.csv"));
  await preparePrices({ csvPath, outFolder: fresh(), options, report });
  return reported.slice(1);
}

test("names the line of a first or last date beyond a long gap", async () => {
  const days = [3, 4, 5, 6].map((day) => `2015-03-0${day}`);
  assert.deepEqual(await saidOf(days), []);
  assert.deepEqual(await saidOf([...days, "2015-03-16"]), []);
  assert.deepEqual(await saidOf(["2015-03-02", "2005-03-04", ...days]), [
    "warning: prices.csv: line 3: the first date, 2005-03-04, is 3650 calendar days from the next one, 2015-03-02; " +
      "check that it is not mistyped",
  ]);
  assert.deepEqual(await saidOf(["2025-03-02", ...days]), [
    "warning: prices.csv: line 2: the last date, 2025-03-02, is 3649 calendar days from the previous one, 2015-03-06; " +
      "check that it is not mistyped",
  ]);
});

test("refuses a price in the future, unless the window leaves it out", async () => {
  const today = Math.floor(Date.now() / 86_400_000);
  const upTo = (last: number) => [...[-3, -2, -1, 0].map((day) => formatDay(today + day)), formatDay(last)];
  assert.deepEqual(await saidOf(upTo(today + 1)), []);
  const error = await failure("invalid_data", saidOf(upTo(today + 3)));
  assert.match(
    error.message,
    /line 6: the last date, .* is in the future; correct it, or leave it out with --end/,
  );
  assert.equal(error.data.line, 6);
  assert.deepEqual(await saidOf(upTo(parseDay("2105-03-04")!), { end: formatDay(today) }), []);
});

test("features across tickers use the tickers that have a price that day", async () => {
  const { features } = await prepare({ A: [1, 2, 4], B: [1, 3, null], C: [1, 1, 2] });
  const two = Math.log(2);
  const near = (actual: (number | null)[], expected: (number | null)[]) =>
    expected.forEach((value, i) => {
      assert.ok(
        value === null ? actual[i] === null : Math.abs(actual[i]! - value) < 1e-12,
        `${actual} ${expected}`,
      );
    });
  const mean = (Math.log(2) + Math.log(3)) / 3;
  near(features.features.A!.rel_1!, [null, two - mean, 0]);
  near(features.features.B!.rel_1!, [null, Math.log(3) - mean, null]);
  near(features.features.C!.rel_1!, [null, -mean, 0]);
  assert.deepEqual(features.features.A!.weekday, [2, 3, 4]);
});

test("the window limits what is written, and earlier prices still fill the windows of features", async () => {
  const A = walkOf(1, 150);
  const whole = await prepare({ A });
  const { prices, features } = await prepare({ A }, { start: dateAt(130), end: dateAt(140) });
  assert.deepEqual([prices.start, prices.end, prices.Learning_end], [dateAt(130), dateAt(140), undefined]);
  assert.deepEqual(prices.prices.A, A.slice(130, 141));
  for (const name of FEATURE_NAMES) {
    assert.deepEqual(features.features.A![name], whole.features.features.A![name]!.slice(130, 141));
  }
});

test("selects tickers, and refuses a missing one with the nearest name", async () => {
  const prices = { AAPL: [1, 2], MSFT: [1, 2], XOM: [1, 2] };
  const { features } = await prepare(prices, { tickers: ["XOM", "AAPL"] });
  assert.deepEqual(Object.keys(features.features), ["AAPL", "XOM"]);
  assert.match(
    (await failure("invalid_request", prepare(prices, { tickers: ["MFST"] }))).message,
    /mean MSFT/,
  );
});

test("refuses options that fit no data by name before writing anything", async () => {
  for (const options of [
    { start: "2020-02-30" },
    { end: "1/2/2020" },
    { start: "2020-01-03", end: "2020-01-02" },
    { start: "2021-01-01" },
    { learningEnd: "2019-12-31" },
    { learningEnd: "2020-01-04" },
    { id: "a/b" },
    { tickers: [] },
  ]) {
    const outFolder = fresh();
    const attempt = preparePrices({ csvPath: csvOf({ A: [1, 2, 3] }), outFolder, options });
    await failure("invalid_request", attempt);
    assert.ok(!existsSync(outFolder));
  }
});

test("the bytes that are read and the tickers that are written can be followed", async () => {
  const csvPath = csvOf({ A: [1, 2.5, 3], B: [4, 5, 6] });
  const followed: PrepareProgress[] = [];
  await preparePrices({
    csvPath,
    outFolder: fresh(),
    onProgress: (progress) => void followed.push(progress),
  });
  const lastOfStage = followed.filter(
    ({ stage }, i) => stage !== "read" || followed[i + 1]?.stage !== "read",
  );
  assert.deepEqual(lastOfStage, [
    { stage: "read", done: statSync(csvPath).size },
    { stage: "write", done: 1, total: 2 },
    { stage: "write", done: 2, total: 2 },
  ]);
});

test("the same prices give the same id and bytes, whatever the file looks like; repeating writes nothing", async () => {
  const csvPath = csvOf({ A: [1, 2.5, 3], B: [4, 5, 6] });
  const outFolder = fresh();
  const first = await preparePrices({ csvPath, outFolder });
  const state = () =>
    readdirSync(join(outFolder, "data")).map((name) => statSync(join(outFolder, "data", name)).ino);
  const inodes = state();
  assert.equal(first.written, true);
  const semicolons = `${fresh()}.csv`;
  writeFileSync(semicolons, `date;B;A\n${dateAt(2)};6;3\n${dateAt(0)};4;1\n${dateAt(1)};5;2,5\n`);
  const again = await preparePrices({ csvPath: semicolons, outFolder });
  assert.deepEqual({ ...again, written: true }, first);
  assert.equal(again.written, false);
  assert.deepEqual(state(), inodes);
  const other = await preparePrices({ csvPath, outFolder, options: { learningEnd: dateAt(1) } });
  assert.notEqual(other.id, first.id);
});

test("never replaces a blob of that name with other bytes, and does not write its sibling either", async () => {
  const outFolder = fresh();
  const id = "fixed";
  const first = await preparePrices({ csvPath: csvOf({ A: [1, 2, 3] }), outFolder, options: { id } });
  rmSync(first.dataExtractorPath);
  const before = readFileSync(first.featurePath);
  const attempt = preparePrices({ csvPath: csvOf({ A: [1, 2, 4] }), outFolder, options: { id } });
  assert.match(
    (await failure("output_failed", attempt)).message,
    /feature_engine_fixed\.json exists already/,
  );
  assert.deepEqual(readdirSync(join(outFolder, "data")), ["feature_engine_fixed.json"]);
  assert.ok(readFileSync(first.featurePath).equals(before));
  const repaired = await preparePrices({ csvPath: csvOf({ A: [1, 2, 3] }), outFolder, options: { id } });
  assert.equal(repaired.written, true);
  assert.equal(readdirSync(join(outFolder, "data")).length, 2);
});

test("refuses a folder that cannot be created before reading the prices", async () => {
  const file = csvOf({ A: [1, 2, 3] });
  const attempt = preparePrices({ csvPath: `${fresh()}-none.csv`, outFolder: file });
  assert.match(
    (await failure("output_failed", attempt)).message,
    /data could not be written: a part of its path/,
  );
});

test("numbers are written so that they read back as the same float64", async () => {
  const A = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1e21, 1e-7, 123456789.12345678];
  const { prices } = await prepare({ A });
  assert.deepEqual(prices.prices.A, A);
});

test("the Parquet blobs have the rows of the JSON blobs", async () => {
  const prices = { A: walkOf(1, 140), B: [...walkOf(2, 90), null, 0, -1, ...walkOf(3, 47)] };
  const options = { learningEnd: dateAt(100), start: dateAt(5) };
  const { prepared: asJson } = await prepare(prices, options);
  for (const parquet of [{}, { compression: "zstd" }, { compression: "snappy", float32: true }] as const) {
    const csvPath = csvOf(prices);
    const outFolder = fresh();
    const prepared = await preparePrices({
      csvPath,
      outFolder,
      options: { ...options, format: "parquet", ...parquet },
    });
    assert.match(prepared.featurePath, new RegExp(`/data/feature_engine_${prepared.id}\\.parquet$`));
    assert.match(prepared.dataExtractorPath, new RegExp(`/data/data_extractor_${prepared.id}\\.parquet$`));
    for (const [kind, path, jsonPath] of [
      ["prices", prepared.dataExtractorPath, asJson.dataExtractorPath],
      ["features", prepared.featurePath, asJson.featurePath],
    ] as const) {
      const read = async (file: string) => readBytes(kind, readFileSync(file), root);
      const [table, json] = [await read(path), await read(jsonPath)];
      const isRounded = kind === "features" && "float32" in parquet;
      const rounded = (values: Float64Array) => (isRounded ? values.map(Math.fround) : values);
      assert.deepEqual(table.window, json.window);
      assert.deepEqual(
        table.tickers,
        json.tickers.map((ticker) => ({ ...ticker, values: rounded(ticker.values) })),
      );
    }
  }
});

test("the format is a part of the id, and what only Parquet has is refused for JSON", async () => {
  const request = { csvPath: csvOf({ A: walkOf(1, 10) }), outFolder: fresh() };
  const idOf = async (options: PrepareOptions) => (await preparePrices({ ...request, options })).id;
  const ids = [
    await idOf({}),
    await idOf({ format: "parquet" }),
    await idOf({ format: "parquet", compression: "zstd" }),
    await idOf({ format: "parquet", float32: true }),
  ];
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(await idOf({ format: "parquet", compression: "snappy", float32: false }), ids[1]);
  for (const [path, options] of [
    ["compression", { compression: "zstd" }],
    ["float32", { float32: true, format: "json" }],
  ] as const)
    assert.equal((await failure("invalid_request", idOf(options))).data.path, path);
});
