import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../contract/problems/problem.ts";
import { faultsIn, MAX_FAULTS, mayChange, placeFaults } from "./faults.ts";

const PLACES = [
  ["feature_url"],
  ["config"],
  ["config", "ML params"],
  ["config", "ML params", "n_splits"],
  ["config", "ML params", "model_params"],
];

function placed(...paths: string[]): [string, string[]][] {
  const { at, elsewhere } = placeFaults(
    paths.map((path) => ({ path, message: "" })),
    PLACES,
  );
  const found = [...at].map(([name, faults]): [string, string[]] => [name, faults.map(({ path }) => path)]);
  return elsewhere.length === 0 ? found : [...found, ["", elsewhere.map(({ path }) => path)]];
}

test("a fault is shown at its field, or else at the nearest section around it", () => {
  assert.deepEqual(
    placed(
      "feature_url",
      "config.ML params.n_splits",
      "config.ML params.model_params.learning_rat",
      "config.ML params.model_params.monotone[3]",
      "config.ML params.n_split",
      "config.XX",
      "headers.idempotency-key",
      "",
    ),
    [
      ["feature_url", ["feature_url"]],
      ["config.ML params.n_splits", ["config.ML params.n_splits"]],
      [
        "config.ML params.model_params",
        ["config.ML params.model_params.learning_rat", "config.ML params.model_params.monotone[3]"],
      ],
      ["config.ML params", ["config.ML params.n_split"]],
      ["config", ["config.XX"]],
      ["", ["headers.idempotency-key", ""]],
    ],
  );
});

test("a change settles the faults of a member, of what contains it and of what it contains", () => {
  const faults = [
    "config",
    "config.ML params",
    "config.ML params.n_splits",
    "config.ML params.n_split",
    "feature_url",
    "",
  ];
  const settledBy = (changed: string) => faults.filter((fault) => mayChange(changed, fault));
  assert.deepEqual(settledBy("config.ML params.n_splits"), faults.slice(0, 3));
  assert.deepEqual(settledBy("config"), faults.slice(0, 4));
  assert.deepEqual(settledBy("feature_url"), ["feature_url"]);
  assert.deepEqual(settledBy("tags"), []);
});

test("a name that only starts like a place is not in it", () => {
  assert.deepEqual(placed("feature_url_2", "config.ML params.n_splits_2", "configuration"), [
    ["config.ML params", ["config.ML params.n_splits_2"]],
    ["", ["feature_url_2", "configuration"]],
  ]);
});

function problem(more: Partial<Problem>): Problem {
  const base = { type: "t", title: "t", status: 400, code: "invalid_request", detail: "all", advice: "a" };
  return { ...base, ...more } as Problem;
}

test("a problem without a list is one fault at its path, and a list is shown up to a limit", () => {
  assert.deepEqual(faultsIn(problem({})), [{ path: "", message: "all" }]);
  assert.deepEqual(faultsIn(problem({ path: "config", faults: [] })), [{ path: "config", message: "all" }]);
  const faults = Array.from({ length: 500 }, (_, i) => ({
    path: `config.${i}`,
    message: "wrong",
    suggestion: "x",
  }));
  const shown = faultsIn(problem({ faults }));
  assert.equal(shown.length, MAX_FAULTS);
  assert.deepEqual(shown[0], { path: "config.0", message: "wrong (did you mean x?)" });
});
