/** Inputs after public bug reports about models and prices. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { preparePrices } from "../../../src/prepare/prepare-prices.ts";
import { type BlobPair, newFolder, removeFolders, runJob, writeTexts } from "../jobs/job-runs.ts";
import { Seeded } from "../markets/seeded.ts";

after(removeFolders);

const CASE = fileURLToPath(new URL("../../cases/field/categories/", import.meta.url));

interface Blobs {
  readonly prices: { prices: Record<string, number[]>; dates: string[] };
  readonly features: { features: Record<string, Record<string, number[]>> };
}

/** Features f0, f1 and c, a category from 0 to 4, of the ticker X. @param change of the blobs. */
async function categories(change: (blobs: Blobs) => void = () => undefined) {
  const read = (name: string) => JSON.parse(readFileSync(join(CASE, name), "utf8"));
  const blobs: Blobs = { prices: read("data_extractor_1.json"), features: read("feature_engine_1.json") };
  change(blobs);
  return writeTexts(JSON.stringify(blobs.features), JSON.stringify(blobs.prices));
}

async function run(blobs: BlobPair, model: string, params: object = {}, more = {}) {
  const config = JSON.stringify({ "ML params": { model, model_params: params, ...more } });
  return (await runJob(blobs, config)).output;
}

describe("models", () => {
  test("xgboost takes categorical features, and forecasts what a plain XGBRegressor does", async () => {
    const params = { feature_types: ["q", "q", "c"], enable_categorical: true };
    const { mu } = await run(await categories(), "xgboost", params);
    assert.ok(Math.abs(mu.X! - -0.0007192189) < 1e-9);
  });

  test("lightgbm's categories are reported if they are fractions, negative or scaled, and not if they are codes", async () => {
    const params = { categorical_feature: [2] };
    const changed = (change: (code: number) => number) =>
      categories(({ features }) => {
        features.features.X!.c = features.features.X!.c!.map(change);
      });
    const isTold = async (...job: Parameters<typeof run>) =>
      (await run(...job)).warnings.some(({ code }) => code === "uncoded_categories");
    assert.equal(await isTold(await changed((code) => code / 10), "lightgbm", params), true);
    assert.equal(await isTold(await changed((code) => -1 - code), "lightgbm", params), true);
    assert.equal(await isTold(await categories(), "lightgbm", params, { scaler: "standard" }), true);
    assert.equal(await isTold(await categories(), "lightgbm", params), false);
  });

  test("a value that is too large for the model is named with its feature, ticker and date", async () => {
    const blobs = await categories(({ features }) => {
      features.features.X!.f1![50] = Number.MAX_VALUE;
    });
    const { dates } = JSON.parse(readFileSync(blobs.prices, "utf8"));
    const words = new RegExp(`f1 of X is 1\\.7976931348623157e\\+308 on ${dates[50]}, too large`);
    await assert.rejects(run(blobs, "quantile"), words);
    await assert.rejects(run(blobs, "ridge", {}, { fit: "pooled" }), words);
  });
});

const DAY = 86_400_000;

/** Two years of weekdays from 2023-01-02, with returns of 1.5 %. */
function randomPrices(seed: number): { dates: string[]; prices: number[] } {
  const random = new Seeded(seed);
  const days = Array.from({ length: 730 }, (_, i) => new Date(Date.UTC(2023, 0, 2) + i * DAY));
  const dates = days.filter((day) => day.getUTCDay() % 6 !== 0).map((day) => day.toISOString().slice(0, 10));
  let price = 100;
  return { dates, prices: dates.map(() => (price *= Math.exp(0.015 * random.normal()))) };
}

/** Long CSV of tickers, each changed in its own way from row 200 on. */
function planted(
  faults: Readonly<Record<string, (price: number, i: number, prices: number[]) => number>>,
): string {
  const rows = Object.entries(faults).flatMap(([ticker, fault], seed) => {
    const { dates, prices } = randomPrices(seed + 1);
    return dates.map((date, i) => `${date},${ticker},${fault(prices[i]!, i, prices)}`);
  });
  return ["date,ticker,close", ...rows].join("\n");
}

async function prepared(csv: string) {
  const folder = await newFolder();
  const csvPath = join(folder, "prices.csv");
  await writeFile(csvPath, csv);
  const sentences: string[] = [];
  const blobs = await preparePrices({ csvPath, outFolder: folder, report: (line) => sentences.push(line) });
  const warned = sentences.flatMap((line) => [...line.matchAll(/^warning: (\w+): (.*)$/g)]);
  return { folder, blobs, warned: Object.fromEntries(warned.map(([, ticker, text]) => [ticker!, text!])) };
}

describe("suspicious prices", () => {
  const from = (ratio: number) => (price: number, i: number) => (i < 200 ? price : price * ratio);

  test("every planted fault is reported with its date, by prepare and the job", async () => {
    const csv = planted({
      CLEAN: (price) => price,
      SPLIT2: from(1 / 2),
      SPLIT3: from(1 / 3),
      SPLIT7: from(1 / 7),
      HALF: from(2 / 3),
      REVERSE: from(10),
      HUNDRED: (price, i) => (i === 200 ? 100 * price : price),
      PENCE: (price, i) => (i >= 200 && i < 203 ? price / 100 : price),
      FROZEN: (price, i, prices) => (i >= 200 && i < 270 ? prices[200]! : price),
    });
    const { folder, blobs, warned } = await prepared(csv);
    const date = randomPrices(1).dates;
    const after = ", like a split or another unit";
    assert.deepEqual(warned, {
      FROZEN: `70 prices from ${date[200]} to ${date[269]} are equal`,
      HALF: `on ${date[200]} the price falls to two thirds${after}`,
      HUNDRED: warned.HUNDRED,
      PENCE: warned.PENCE,
      REVERSE: `on ${date[200]} the price rises to 10 times${after}`,
      SPLIT2: `on ${date[200]} the price falls to 1/2${after}`,
      SPLIT3: `on ${date[200]} the price falls to 1/3${after}`,
      SPLIT7: `on ${date[200]} the price falls to 1/7${after}`,
    });
    assert.match(
      warned.HUNDRED!,
      new RegExp(`^on ${date[200]} .* rises to \\d+ times and is back on ${date[201]}$`),
    );
    assert.match(
      warned.PENCE!,
      new RegExp(`^on ${date[200]} .* falls to 1/\\d+ and is back on ${date[203]}$`),
    );

    const { featurePath: features, dataExtractorPath: prices } = blobs;
    const { warnings } = await run({ folder, features, prices }, "ridge");
    assert.deepEqual(
      warnings
        .filter(({ code }) => code === "suspicious_price")
        .map(({ ticker, count, message }) => [ticker, count, message]),
      Object.entries(warned).map(([ticker, text]) => [ticker, 1, `${ticker}: ${text}.`]),
    );
  });

  test("at most one in 200 clean tickers is reported", async () => {
    const noise = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`N${i}`, (price: number) => price]),
    );
    assert.deepEqual((await prepared(planted(noise))).warned, {});
    const real = readFileSync(new URL("../../../examples/sp500-200/prices.csv.gz", import.meta.url));
    assert.deepEqual(Object.keys((await prepared(gunzipSync(real).toString())).warned), ["CDNS"]);
  });
});
