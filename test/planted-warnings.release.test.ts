/** Jobs on planted markets: their warnings with a signal and without one. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { plantedMarket, type SignalName, writePlantedBlobs } from "../bench/planted/planted-signals.ts";
import type { OutputBlob } from "../src/contract/output/output-blob.ts";
import { type BlobPair, runJob } from "./end-to-end/jobs/job-runs.ts";
import { closeSharedEngines } from "./end-to-end/jobs/shared-engines.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-warnings-"));
after(async () => {
  await closeSharedEngines();
  rmSync(folder, { recursive: true });
});

const pairs = new Map<SignalName, BlobPair>();

before(() => {
  for (const signal of ["linear", "null"] as const) {
    const market = plantedMarket(signal, 1, { days: 600, tickers: 4 });
    const blobs = writePlantedBlobs([market], join(folder, signal, "data"));
    const { featurePath: features, dataExtractorPath: prices } = blobs;
    pairs.set(signal, { folder: join(folder, signal), features, prices });
  }
});

const MODELS = {
  ridge: { model: "ridge", scaler: "standard" },
  "random forest": { model: "random_forest", model_params: { n_estimators: 20 } },
  lightgbm: { model: "lightgbm", model_params: { n_estimators: 20, num_leaves: 7 } },
} as const;

async function warningsOf(blobs: BlobPair, model: object): Promise<OutputBlob["warnings"]> {
  const { output } = await runJob(blobs, JSON.stringify({ "ML params": model }));
  return output.warnings.filter(({ code }) => code === "no_skill" || code === "wild_forecast");
}

for (const [name, model] of Object.entries(MODELS)) {
  test(`${name} has no warning about its forecasts on a planted linear market`, async () => {
    assert.deepEqual(await warningsOf(pairs.get("linear")!, model), []);
  });
}

test("without a signal, no_skill says that none was found", async () => {
  const [warning, ...others] = await warningsOf(pairs.get("null")!, MODELS.lightgbm);
  assert.deepEqual([warning!.code, others], ["no_skill", []]);
  assert.match(
    warning!.message,
    /^No (skill|evidence).* on the out-of-fold rows\. Order( over time)?: .* over \d+ dates.*equal weight for each ticker, 225 dates/,
  );
});

test("a regression on as many features as rows causes wild_forecast, which names its ticker", async () => {
  const { features, prices, folder: whole } = pairs.get("null")!;
  const blob = JSON.parse(readFileSync(features, "utf8"));
  const [ticker] = Object.keys(blob.features);
  // 280 columns of pure noise: the columns of all tickers, at several lags.
  const columns = Object.values<Record<string, number[]>>(blob.features).flatMap((own) => Object.values(own));
  const lagged = Array.from({ length: 280 }, (_, i) => {
    const column = columns[i % columns.length]!;
    const lag = Math.floor(i / columns.length);
    return [`f${i}`, column.map((_value, d) => column[Math.max(0, d - lag)]!)] as const;
  });
  const wide = join(whole, "data", "feature_engine_2.json");
  writeFileSync(
    wide,
    JSON.stringify({ ...blob, features: { ...blob.features, [ticker!]: Object.fromEntries(lagged) } }),
  );
  const warnings = await warningsOf({ folder: whole, features: wide, prices }, { model: "linear" });
  const wild = warnings.find(({ code }) => code === "wild_forecast")!;
  assert.equal(wild.count, 1);
  assert.match(wild.message, new RegExp(`: ${ticker}\\.$`));
});
