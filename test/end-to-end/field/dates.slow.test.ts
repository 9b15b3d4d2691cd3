/** Daily bars as people have them: stamps that are not midnight, an index without a name, row numbers. pandas gives the right values. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type PrepareOptions, preparePrices } from "../../../src/prepare/prepare-prices.ts";
import { newFolder, removeFolders, runJob, writeTexts } from "../jobs/job-runs.ts";

const CASES = fileURLToPath(new URL("../../cases/field/", import.meta.url));
const CASE: {
  readonly dates: string[];
  readonly closes: Record<string, number[]>;
  readonly stamps: Record<string, string[]>;
  readonly signals: Record<string, unknown>[];
} = JSON.parse(readFileSync(join(CASES, "dates.json"), "utf8"));
const { dates, closes, stamps, signals } = CASE;
const TICKERS = Object.keys(closes);
const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 3}}';
const NO_MIDNIGHT = {
  code: "invalid_data",
  message: /is not midnight in its own zone; write dates as YYYY-MM-DD/,
};

after(removeFolders);

const wide = (index: readonly string[]) =>
  [["Date", ...TICKERS], ...index.map((at, i) => [at, ...TICKERS.map((t) => closes[t]![i])])].join("\n");
const long = (rows: readonly Record<string, unknown>[]) =>
  [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row).map((v) => v ?? ""))].join("\n");

/** The blobs of `prepare` from texts of CSV files. */
async function prepare(prices: string, features?: string, options: PrepareOptions = {}) {
  const outFolder = await newFolder();
  const [csvPath, featuresPath] = ["p.csv", "f.csv"].map((name) => join(outFolder, name));
  writeFileSync(csvPath!, prices);
  if (features !== undefined) writeFileSync(featuresPath!, features);
  const own = features === undefined ? {} : { featuresPath: featuresPath! };
  const prepared = await preparePrices({ csvPath: csvPath!, ...own, outFolder, options });
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const { id, tickers, featurePath, dataExtractorPath } = prepared;
  return { id, tickers, prices: read(dataExtractorPath), values: read(featurePath) };
}

async function job(features: object, prices: object) {
  return (await runJob(await writeTexts(JSON.stringify(features), JSON.stringify(prices)), RIDGE)).output;
}

const bySignal = (index: readonly string[], names: readonly string[] = ["signal"]) =>
  Object.fromEntries(
    TICKERS.map((ticker) => {
      const rows = signals.filter((row) => row.ticker === ticker);
      const column = (name: string) => Object.fromEntries(index.map((at, i) => [at, rows[i]![name]]));
      return [ticker, Object.fromEntries(names.map((name) => [name, column(name)]))];
    }),
  );
const byClose = (index: readonly string[]) =>
  Object.fromEntries(
    TICKERS.map((t) => [t, { close: Object.fromEntries(index.map((at, i) => [at, closes[t]![i]])) }]),
  );

describe("a time of day", () => {
  for (const [zone, index] of Object.entries(stamps)) {
    test(`is refused in prices and features, and has the market's date in ${zone}`, async () => {
      const prices = wide(index.map((at) => at.replace("T", " ").replace(".000Z", "+00:00")));
      const features = long(signals.map((row, i) => ({ ...row, date: index[Math.floor(i / 3)] })));
      await assert.rejects(prepare(prices), NO_MIDNIGHT);
      await assert.rejects(prepare(wide(dates), features), NO_MIDNIGHT);
      const right = await prepare(wide(dates), long(signals));
      assert.deepEqual(right.prices.dates, dates);
      assert.deepEqual(await prepare(prices, features, { timeZone: zone }), right);
    });
  }

  test("is refused by a job in either blob and in a bound, and a midnight with an offset is not", async () => {
    const late = stamps["Asia/Tokyo"]!;
    for (const [features, prices] of [
      [bySignal(late), byClose(dates)],
      [bySignal(dates), byClose(late)],
      [bySignal(dates), { prices: byClose(dates), Learning_end: late[100] }],
      [bySignal(dates), Object.fromEntries(late.map((at, i) => [at, { AAPL: closes.AAPL![i] }]))],
    ] as const) {
      await assert.rejects(job(features, prices), NO_MIDNIGHT);
    }
    const midnights = dates.map((date) => `${date}T00:00:00+08:00`);
    assert.deepEqual((await job(bySignal(midnights), byClose(dates))).failures, []);
  });
});

test("the verdict says that features are on dates without a price", async () => {
  /** The last date stays, so that there is a forecast. */
  const dayBefore = (date: string) =>
    date === dates.at(-1) ? date : new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
  const { verdict, warnings } = await job(bySignal(dates.map(dayBefore)), byClose(dates));
  assert.match(
    verdict!.sentence,
    /so features may be dated a day early or late, for 3 tickers: AAPL \(43 of 219, such as 2019-12-29\)/,
  );
  assert.ok(warnings.some(({ code }) => code === "unpriced_dates"));
});
