import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../contract/problems/problem.ts";
import { readTree } from "./draft.ts";
import { faultsAt, faultsIn, pathName } from "./faults.ts";
import { withPayloadPaths } from "./start.ts";

const TREE = readTree(
  '{"feature_url": "f", "config": {"n_splits": 0, "list": [{"grid": 1}, {}]}}',
  "payload",
);

function shownAt(path: readonly (string | number)[], members: readonly string[], tree = TREE): string[] {
  const paths = [
    "feature_url",
    "config.n_splits",
    "config.list[0].grid",
    "config.n_splits_2",
    "",
    "configuration",
  ];
  const refusal = { sentence: "", tree: TREE, faults: paths.map((at) => ({ path: at, message: "" })) };
  const inner = members.map((name) => ({ path: [...path, name] }));
  return faultsAt(refusal, tree, path, inner).map((fault) => fault.path);
}

test("a fault is shown at its field, or else at the nearest section around it", () => {
  assert.deepEqual(shownAt(["config", "n_splits"], []), ["config.n_splits"]);
  assert.deepEqual(shownAt(["config", "list", 0], []), ["config.list[0].grid"]);
  assert.deepEqual(shownAt(["config"], ["n_splits", "list"]), ["config.n_splits_2"]);
  assert.deepEqual(shownAt(["config"], ["list"]), ["config.n_splits", "config.n_splits_2"]);
  assert.deepEqual(shownAt([], ["feature_url", "config"]), ["", "configuration"]);
  assert.equal(pathName(["config", "list", 0, "grid"]), "config.list[0].grid");
});

test("a fault goes when the value at its place changes, and only then", () => {
  const next = readTree(
    '{"feature_url": "g", "config": {"n_splits": 0, "list": [{"grid": 2}, {}]}}',
    "payload",
  );
  assert.deepEqual(shownAt(["feature_url"], [], next), []);
  assert.deepEqual(shownAt(["config", "list", 0], [], next), []);
  assert.deepEqual(shownAt(["config", "n_splits"], [], next), ["config.n_splits"]);
});

test("a problem without a list is one fault at its path, in the payload", () => {
  const problem = (more: Partial<Problem>) =>
    ({ title: "t", detail: "all", advice: "a", ...more }) as Problem;
  assert.deepEqual(faultsIn(problem({})), [{ path: "", message: "all" }]);
  assert.deepEqual(faultsIn(problem({ path: "config", faults: [] })), [{ path: "config", message: "all" }]);
  const faults = [{ path: "config.a", message: "wrong", suggestion: "x" }];
  assert.deepEqual(faultsIn(problem({ faults })), [{ path: "config.a", message: "wrong (did you mean x?)" }]);
  const [path, ...others] = ["ML params.model_params", "NN params", "feature_url", "ML paramsX"];
  const failed = problem({ path: path!, faults: others.map((at) => ({ path: at, message: "m" })) });
  const found = withPayloadPaths(failed);
  assert.equal(found.path, "config.ML params.model_params", "of a failed job, from the payload");
  assert.deepEqual(
    found.faults?.map((fault) => fault.path),
    ["config.NN params", "feature_url", "ML paramsX"],
  );
});
