/** Daily bars as people have them: stamps that are not midnight, an index without a name, row numbers. pandas gives the right values. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Ended, inputArguments, mucast } from "../commands/command.ts";
import { newFolder, removeFolders } from "../jobs/job-runs.ts";

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
const NO_MIDNIGHT = /invalid_data[\s\S]*is not midnight in its own zone; write dates as YYYY-MM-DD/;

let folder: string;
before(async () => {
  folder = await newFolder();
});
after(removeFolders);

let files = 0;
function file(name: string, text: string): string {
  const path = join(folder, `${files++}-${name}`);
  writeFileSync(path, text);
  return path;
}

const wide = (index: readonly string[], name = "Date") =>
  file(
    "p.csv",
    [[name, ...TICKERS], ...index.map((at, i) => [at, ...TICKERS.map((t) => closes[t]![i])])].join("\n"),
  );
const long = (rows: readonly Record<string, unknown>[]) =>
  file(
    "f.csv",
    [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row).map((v) => v ?? ""))].join("\n"),
  );

async function prepare(prices: string, ...more: string[]): Promise<Ended> {
  return mucast(["prepare", "--prices", prices, "--out", folder, ...more]);
}

async function prepared(prices: string, ...more: string[]) {
  const { code, stdout, stderr } = await prepare(prices, ...more);
  assert.equal(code, 0, stderr);
  const { id, tickers, features, feature_url, data_extractor_url } = JSON.parse(stdout);
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  return { id, tickers, features, prices: read(data_extractor_url), values: read(feature_url) };
}

const blob = (content: object) => file("b.json", JSON.stringify(content));
const job = (features: string, prices: string, command = "run_ml_job") =>
  mucast([command, ...inputArguments({ folder, features, prices }, RIDGE), "--log", "json"]);
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

describe("a time of day", { concurrency: 2 }, () => {
  for (const [zone, index] of Object.entries(stamps)) {
    test(`is refused in prices and features, and has the market's date in ${zone}`, async () => {
      const prices = wide(index.map((at) => at.replace("T", " ").replace(".000Z", "+00:00")));
      const features = long(signals.map((row, i) => ({ ...row, date: index[Math.floor(i / 3)] })));
      assert.match((await prepare(prices)).stderr, NO_MIDNIGHT);
      assert.match((await prepare(wide(dates), "--features", features)).stderr, NO_MIDNIGHT);
      const right = await prepared(wide(dates), "--features", long(signals));
      assert.deepEqual(right.prices.dates, dates);
      assert.deepEqual(await prepared(prices, "--features", features, "--time-zone", zone), right);
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
      assert.match((await job(blob(features), blob(prices))).stderr, NO_MIDNIGHT);
    }
    const midnights = dates.map((date) => `${date}T00:00:00+08:00`);
    const { code, stderr } = await job(blob(bySignal(midnights)), blob(byClose(dates)), "validate");
    assert.equal(code, 0, stderr);
  });
});

test("the verdict says that features are on dates without a price", async () => {
  /** The last date stays, so that there is a forecast. */
  const dayBefore = (date: string) =>
    date === dates.at(-1) ? date : new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
  const words =
    /so features may be dated a day early or late, for 3 tickers: AAPL \(43 of 219, such as 2019-12-29\)/;
  const ended = await job(blob(bySignal(dates.map(dayBefore))), blob(byClose(dates)));
  assert.equal(ended.code, 0, ended.stderr);
  const { verdict, warnings } = JSON.parse(
    readFileSync(new URL(JSON.parse(ended.stdout).output_url), "utf8"),
  );
  assert.match(verdict.sentence, words);
  assert.ok(warnings.some(({ code }: { code: string }) => code === "unpriced_dates"));
  const shifted = long(signals.map((row) => ({ ...row, date: dayBefore(String(row.date)) })));
  const forecast = [
    "forecast",
    wide(dates),
    "--config",
    "ridge",
    "--features",
    shifted,
    "--out",
    join(folder, "f"),
  ];
  const { code, stderr } = await mucast(forecast);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /unpriced_dates: More than a tenth .* AAPL \(43 of 263, such as 2019-12-29\)/);
});
