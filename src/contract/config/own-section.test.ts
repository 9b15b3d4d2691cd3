import assert from "node:assert/strict";
import { test } from "node:test";
import { ownSection } from "./own-section.ts";

const ML = '{\n  "model": "ridge", "model_params": {"alpha": 1.0, "tol": 1e-04}\n}';

test("the own section of run_ml_job is kept as it was written, and no other section", () => {
  const config = `\uFEFF {"keys": {"password": "hunter2"}, "\\u004dL params": ${ML} , "NN params": {"a": 1}}`;
  assert.equal(ownSection(config, "run_ml_job"), ML);
});

test("the own section of run_dl_job is kept as it was written where Dot prediction stands alone in it", () => {
  const section = '{ "Dot prediction": { "current option" : "lstm" } }';
  assert.equal(ownSection(`{"ML params": ${ML}, "NN params":${section}}`, "run_dl_job"), section);
});

test("of what stands beside Dot prediction the names alone are kept", () => {
  const own = '{ "current option" : "lstm" }';
  const config = `{"NN params": {"Portfolio \\"x\\"": {"token": "hunter2"}, "Dot prediction": ${own}, "b": {}}}`;
  const kept = ownSection(config, "run_dl_job");
  assert.equal(kept, `{"Portfolio \\"x\\"": {}, "Dot prediction": ${own}, "b": {}}`);
});
