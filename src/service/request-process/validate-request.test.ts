import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { jobPreviewSchema } from "../../contract/api/job-preview.ts";
import type { JobInputs } from "../../executors/executor.ts";
import { validateRequest } from "./validate-request.ts";

const BASE = "http://127.0.0.1:8080";
const SPACE = "key-0123456789abcdef";
const CONFIG = JSON.stringify({
  "ML params": { model: "ridge", cv_test_size: 3, n_splits: 5 },
  "NN params": { "Dot prediction": { "current option": "mlp", data_processing: { lookback: 5 } } },
});

describe("the request to preview a job", () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-preview-"));
  after(() => rmSync(folder, { recursive: true }));
  const blobs = join(folder, SPACE, "data");
  mkdirSync(blobs, { recursive: true });
  const read = (name: string) => JSON.parse(readFileSync(join("test/cases/tiny/data", name), "utf8"));
  const prices = read("data_extractor_tiny.json");
  const { Learning_end: learning_end } = prices;
  delete prices.Learning_end;
  for (let n = 0; n < 300; n++) prices.prices[`X${n}`] = prices.prices.ALFA;
  writeFileSync(join(blobs, "data_extractor_1.json"), JSON.stringify(prices));
  writeFileSync(
    join(blobs, "feature_engine_1.json"),
    readFileSync("test/cases/tiny/data/feature_engine_tiny.json"),
  );

  async function preview(inputs: Partial<JobInputs>) {
    const policy = { allowed: [], mapped: [{ base: BASE, folder, root: folder }] };
    const previewed = await validateRequest({
      kind: "validate",
      storage: { blobUrl: BASE, policy },
      inputs: {
        featureUrl: `${BASE}/data/feature_engine_1.json`,
        dataExtractorUrl: `${BASE}/data/data_extractor_1.json`,
        config: CONFIG,
        space: SPACE,
        ...inputs,
      },
    });
    return jobPreviewSchema.parse(previewed);
  }

  test("returns the first warnings, and the number of all, without those that only an output lists", async () => {
    const { warnings, warning_counts, tickers, ticker_count } = await preview({
      options: { operation: "run_ml_job", learning_end },
    });
    assert.equal(warnings.length, 200);
    assert.deepEqual(warning_counts, { ignored_section: 1, no_features: 300 });
    assert.deepEqual(
      tickers.map(({ ticker, folds }) => [ticker, folds]),
      ["ALFA", "BETA", "GAMA"].map((ticker) => [ticker, 5]),
    );
    assert.equal(ticker_count, 3);
  });

  test("previews the job that the payload names, in its window", async () => {
    const options = { operation: "run_dl_job", tags: ["a"], portable: true, learning_end };
    const { model, window } = await preview({ options });
    assert.deepEqual([model.name, window.learning_end], ["mlp", learning_end]);
  });

  test("gives the error of the job, and reaches no other space", async () => {
    const config = CONFIG.replace('"lookback":5', '"lookback":11');
    await assert.rejects(preview({ config, options: { operation: "run_dl_job", learning_end } }), {
      code: "insufficient_history",
    });
    await assert.rejects(preview({ space: "key-f123456789abcdef", options: { operation: "run_ml_job" } }), {
      code: "blob_not_found",
    });
  });
});
