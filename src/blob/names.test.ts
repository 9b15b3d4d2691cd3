import assert from "node:assert/strict";
import { test } from "node:test";
import { INPUT_FORMATS } from "../contract/config/input-formats.ts";
import { SUBMITTED_OPERATIONS } from "../contract/config/job-operations.ts";
import { MucastError } from "../contract/errors/errors.ts";
import {
  checkId,
  containerJob,
  executionName,
  inputNames,
  isInputName,
  outputIdIn,
  outputName,
} from "./names.ts";

test("outputs and executions have the names that other services look for", () => {
  assert.equal(outputName("run_ml_job", "a-1"), "ml_engine_a-1.json");
  assert.equal(outputName("run_dl_job", "a_1"), "nn_engine_a_1.json");
  assert.equal(executionName("run_ml_job", "x1"), "ml-worker-job-x1");
  assert.equal(executionName("run_dl_job", "x1"), "dl-job-x1");
  assert.deepEqual(inputNames("7"), { features: "feature_engine_7.json", prices: "data_extractor_7.json" });
  const tables = { features: "feature_engine_7.parquet", prices: "data_extractor_7.parquet" };
  assert.deepEqual(inputNames("7", "parquet"), tables);
});

test("distinguishes names of inputs and outputs from all others", () => {
  for (const operation of SUBMITTED_OPERATIONS) assert.equal(outputIdIn(outputName(operation, "a-1")), "a-1");
  for (const format of INPUT_FORMATS) {
    for (const name of Object.values(inputNames("7", format))) {
      assert.ok(isInputName(name));
      assert.equal(outputIdIn(name), undefined);
    }
  }
  for (const name of [
    "ml_engine_.json",
    "ml_engine_a.b.json",
    "xml_engine_a.json",
    "feature_engine_a.json.gz",
    "ml_engine_a.parquet",
    "feature_engine_a.csv",
  ]) {
    assert.equal(outputIdIn(name), undefined, name);
    assert.equal(isInputName(name), false, name);
  }
});

test("refuses an id that could leave its folder or hide a name", () => {
  for (const id of ["", "a/b", "..", "a.b", "a b", "é", "a\n", "a".repeat(65), "a\0"]) {
    assert.throws(
      () => checkId(id),
      (error) =>
        error instanceof MucastError &&
        error.code === "invalid_request" &&
        error.message.endsWith(`got ${JSON.stringify(id)}`),
      JSON.stringify(id),
    );
  }
  assert.equal(checkId("A".repeat(64)), "A".repeat(64));
});

test("an audit runs as the job that it examines, a replay as the job that its output is named after", () => {
  assert.equal(outputName("audit", "a-1"), "audit_a-1.json");
  assert.equal(outputName("replay", "a-1"), "replay_a-1.json");
  for (const job of ["run_ml_job", "run_dl_job"] as const) {
    assert.equal(containerJob(job, {}), job);
    assert.equal(containerJob("audit", { operation: job }), job);
    for (const base of ["/data/", "https://a.example/c/nn_engine_/data/"]) {
      const output_url = `${base}${outputName(job, "1")}?sig=nn_engine_`;
      assert.equal(containerJob("replay", { output_url }), job);
    }
  }
});
