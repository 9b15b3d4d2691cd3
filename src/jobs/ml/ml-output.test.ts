import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { atOnce } from "../../contract/machine/pausable.ts";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import { provenance } from "../shared/job-document.ts";
import { stringifyOrdered } from "../shared/ordered-json.ts";
import { evaluateMl, mlOutput } from "./ml-output.ts";

const SHA = "0".repeat(64);

/** The output of a job without tickers: what does not depend on them. */
function outputOf(config: string) {
  const { settings } = parseMlSettings(config);
  const blob = (name: string) => ({ name, sha256: SHA });
  const parts = {
    id: "1",
    createdAt: new Date(0),
    window: { start: 0, end: 100, cut: 100 },
    asOf: 100,
    settings,
    evaluation: atOnce(evaluateMl([], settings.intervals)),
    warnings: [],
    failures: [],
    provenance: provenance({
      digests: { feature: blob("f.json"), dataExtractor: blob("p.json") },
      config,
      engineVersions: { python: "3.12.0" },
      seed: null,
      device: "cpu",
    }),
  };
  return outputBlobSchema.parse(JSON.parse(stringifyOrdered(mlOutput(parts))));
}

test("the model is recorded with every default filled in, old names resolved", () => {
  const { model_params: _, ...rest } = outputOf('{"ML params": {"model": "RF", "test_size": 7}}').model;
  assert.deepEqual(rest, {
    model: "random_forest",
    library: "sklearn",
    class: "RandomForestRegressor",
    cv_test_size: 7,
    n_splits: 15,
    scaler: "none",
    intervals: null,
  });
});

test("intervals are recorded where they are on, and null where they are off", () => {
  const on = outputOf('{"ML params": {"model": "ridge", "intervals": {"bound": "lower"}}}');
  assert.deepEqual(on.model.intervals, { enabled: true, alpha: 0.1, bound: "lower" });
  assert.equal(on.metrics.intervals?.bound, "lower");
  const off = outputOf('{"ML params": {"model": "ridge", "intervals": {"enabled": false}}}');
  assert.deepEqual([off.model.intervals, off.metrics.intervals], [null, null]);
});

test("the digest of the config is that of its text, byte for byte", () => {
  const config = '{ "ML params": {"model": "ridge"} }\n';
  const digest = createHash("sha256").update(config).digest("hex");
  assert.equal(outputOf(config).provenance.config_sha256, digest);
});
