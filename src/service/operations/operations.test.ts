import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePayload } from "../../contract/config/payload.ts";
import { keptPayload } from "./operations.ts";

const URLS = {
  feature_url: "https://b.example/data/f.json",
  data_extractor_url: "https://b.example/data/d.json",
};

function kept(operation: Parameters<typeof keptPayload>[0], text: string): string {
  return keptPayload(operation, parsePayload(operation, text));
}

test("a kept payload can be submitted again, with its config as the caller wrote it", () => {
  const config = '{ "ML params": {"model": "ridge", "model_params": {"alpha": 1.0}} }';
  const text = `{"feature_url": "${URLS.feature_url}", "data_extractor_url": "${URLS.data_extractor_url}", "config": ${config}, "end": "2024-01-02", "tags": ["a"]}`;
  const again = kept("run_ml_job", text);
  assert.ok(again.includes(`"config": ${config}`));
  assert.deepEqual(JSON.parse(again), JSON.parse(text));
  assert.equal(kept("run_ml_job", again), again);
});

test("it has no query of a URL, no section of another service and no signature", () => {
  const signed = {
    feature_url: `${URLS.feature_url}?sig=a`,
    data_extractor_url: `${URLS.data_extractor_url}?sig=b`,
  };
  const other = { "ML params": { model: "ridge" }, "Other params": { token: "secret" } };
  const text = kept("run_ml_job", JSON.stringify({ ...signed, config: other }));
  assert.deepEqual(JSON.parse(text), { ...URLS, config: { "ML params": { model: "ridge" } } });
  const config = {
    "NN params": { "Dot prediction": { "current option": "lstm" }, "Other option": { key: "secret" } },
  };
  const network = kept("run_dl_job", JSON.stringify({ ...URLS, config }));
  assert.doesNotMatch(network, /secret/);
  assert.equal(parsePayload("run_dl_job", network).model, "lstm");
});

test("an audit keeps its options, and a replay only its URLs", () => {
  const previous_feature_url = "https://b.example/data/e.json";
  const config = { "ML params": { model: "ridge" } };
  const audit = { ...URLS, config, quick: true, previous_feature_url: `${previous_feature_url}?sig=a` };
  assert.deepEqual(JSON.parse(kept("audit", JSON.stringify(audit))), {
    ...{ ...URLS, config, quick: true, previous_feature_url },
    operation: "run_ml_job",
  });
  const output_url = "https://b.example/data/ml_engine_1.json";
  assert.deepEqual(JSON.parse(kept("replay", JSON.stringify({ output_url, config }))), { output_url });
});
