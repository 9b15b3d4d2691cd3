import assert from "node:assert/strict";
import { test } from "node:test";
import { INPUT_FORMATS } from "../contract/config/input-formats.ts";
import { SUBMITTED_OPERATIONS } from "../contract/config/job-operations.ts";
import {
  checkId,
  containerJob,
  executionName,
  inputNames,
  isInputName,
  outputIdIn,
  outputName,
} from "./names.ts";

test("outputs, executions and inputs have the names that other services look for, and no other name is theirs", () => {
  const outputs = SUBMITTED_OPERATIONS.map((operation) => outputName(operation, "a-1"));
  assert.deepEqual(
    outputs.toSorted(),
    ["audit_a-1", "ml_engine_a-1", "nn_engine_a-1", "replay_a-1"].map((name) => `${name}.json`),
  );
  for (const name of outputs) assert.deepEqual([outputIdIn(name), isInputName(name)], ["a-1", false]);
  assert.equal(executionName("run_ml_job", "x1"), "ml-worker-job-x1");
  assert.equal(executionName("run_dl_job", "x1"), "dl-job-x1");
  for (const format of INPUT_FORMATS) {
    const names = inputNames("7", format);
    assert.deepEqual(names, { features: `feature_engine_7.${format}`, prices: `data_extractor_7.${format}` });
    for (const name of Object.values(names))
      assert.deepEqual([outputIdIn(name), isInputName(name)], [undefined, true]);
  }
  const others =
    "ml_engine_.json ml_engine_a.b.json xml_engine_a.json feature_engine_a.json.gz ml_engine_a.parquet";
  for (const name of others.split(" "))
    assert.deepEqual([outputIdIn(name), isInputName(name)], [undefined, false]);
});

test("refuses an id that could leave its folder or hide a name", () => {
  for (const id of ["", "a/b", "..", "a.b", "a b", "é", "a\n", "a".repeat(65), "a\0"])
    assert.throws(() => checkId(id), {
      code: "invalid_request",
      message: `OPERATION_ID must be 1 to 64 letters, digits, "_" or "-", got ${JSON.stringify(id)}`,
    });
  assert.equal(checkId("A".repeat(64)), "A".repeat(64));
});

test("an audit runs as the job that it examines, a replay as the job that its output is named after", () => {
  for (const job of ["run_ml_job", "run_dl_job"] as const) {
    assert.equal(containerJob(job, {}), job);
    assert.equal(containerJob("audit", { operation: job }), job);
    for (const base of ["/data/", "https://a.example/c/nn_engine_/data/"]) {
      const output_url = `${base}${outputName(job, "1")}?sig=nn_engine_`;
      assert.equal(containerJob("replay", { output_url }), job);
    }
  }
});
