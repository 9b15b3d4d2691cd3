import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationView, Problem } from "../../client/index.ts";
import { againAddress, withPayloadPaths } from "./earlier-payload.ts";

test("each operation has a form that submits it again, one of a later service none", () => {
  const address = (operation: string) => againAddress({ id: "one", operation } as OperationView);
  assert.deepEqual(["run_ml_job", "run_dl_job", "audit", "replay", "later", "constructor"].map(address), [
    "#/job?again=one",
    "#/job?again=one",
    "#/audit?again=one",
    "#/replay?again=one",
    undefined,
    undefined,
  ]);
});

test("a failed job's problem points to places in its payload", () => {
  const problem = (paths: readonly string[]) =>
    ({ path: paths[0], faults: paths.map((path) => ({ path, message: "m" })) }) as unknown as Problem;
  const found = withPayloadPaths(
    problem(["ML params.model_params", "NN params", "feature_url", "ML paramsX"]),
  );
  const expected = ["config.ML params.model_params", "config.NN params", "feature_url", "ML paramsX"];
  assert.deepEqual([found.path, found.faults!.map(({ path }) => path)], [expected[0], expected]);
  assert.deepEqual(withPayloadPaths({ code: "x" } as unknown as Problem), { code: "x" });
});
