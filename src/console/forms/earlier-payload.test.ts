import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../client/index.ts";
import { withPayloadPaths } from "./earlier-payload.ts";

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
