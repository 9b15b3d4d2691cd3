import assert from "node:assert/strict";
import { test } from "node:test";
import { ownSection } from "./own-section.ts";

const ML = '{\n  "model": "ridge", "model_params": {"alpha": 1.0, "tol": 1e-04}\n}';

test("keeps only run_ml_job's own section, as it was written", () => {
  const config = `\uFEFF {"keys": {"password": "hunter2"}, "\\u004dL params": ${ML} , "NN params": {"a": 1}}`;
  assert.equal(ownSection(config, "run_ml_job"), ML);
});

test("keeps run_dl_job's own section as it was written if Dot prediction is alone in it", () => {
  const section = '{ "Dot prediction": { "current option" : "lstm" } }';
  assert.equal(ownSection(`{"ML params": ${ML}, "NN params":${section}}`, "run_dl_job"), section);
});

test("keeps only the names of what is next to Dot prediction", () => {
  const own = '{ "current option" : "lstm" }';
  const config = `{"NN params": {"Portfolio \\"x\\"": {"token": "hunter2"}, "Dot prediction": ${own}, "b": {}}}`;
  const kept = ownSection(config, "run_dl_job");
  assert.equal(kept, `{"Portfolio \\"x\\"": {}, "Dot prediction": ${own}, "b": {}}`);
});
