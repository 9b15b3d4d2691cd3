import assert from "node:assert/strict";
import { test } from "node:test";
import type { MucastError } from "../../errors/errors.ts";
import { invalidRequest } from "../../errors/faults.ts";
import { parseMlSettings } from "../ml-settings.ts";
import { type CandidateReader, readCandidates } from "./candidates.ts";

const OWN = { model: "ridge", model_params: { alpha: 300 }, scaler: "standard" };

function choiceOf(candidates: readonly unknown[], others: object = {}, own: object = OWN) {
  return parseMlSettings(JSON.stringify({ "ML params": { ...own, choice: { candidates, ...others } } }))
    .settings.choice!;
}

function refusal(candidates: readonly unknown[], others: object = {}): MucastError {
  try {
    choiceOf(candidates, others);
  } catch (error) {
    return error as MucastError;
  }
  throw new Error("accepted");
}

test("the config itself is the first candidate, and the others inherit what they do not set", () => {
  const { candidates, rule, seed, warmUp } = choiceOf([
    { model_params: { alpha: 1000 } },
    { model: "lightgbm", scaler: "none", fit: "pooled", target: "relative" },
    { model: "lasso" },
  ]);
  assert.deepEqual({ rule, seed, warmUp }, { rule: "mean", seed: 42, warmUp: 15 });
  assert.deepEqual(
    candidates.map(({ settings: { model, scaler, fit, target, resolvedParams } }) => [
      ...[model.name, scaler, fit, target, JSON.stringify(resolvedParams.alpha)],
    ]),
    [
      ["ridge", "standard", "per_ticker", "return", "300"],
      ["ridge", "standard", "per_ticker", "return", "1000"],
      ["lightgbm", "none", "pooled", "relative", undefined],
      ["lasso", "standard", "per_ticker", "return", "1.0"],
    ],
  );
  assert.deepEqual(
    candidates.map(({ label }) => label),
    ["ridge", "ridge alpha=1000", "lightgbm pooled relative unscaled", "lasso"],
  );
});

test("numbers keep their text, and a grid and draws make several candidates with labels of their own", () => {
  const text = `{"ML params": {"model": "ridge", "choice": {"candidates": [
    {"grid": {"alpha": [1e1, 100.0]}}, {"label": "drawn", "draws": 2, "draw": {"alpha": {"log": [1, 100]}}}]}}}`;
  const { candidates } = parseMlSettings(text).settings.choice!;
  assert.deepEqual(
    candidates.map(({ label }) => label),
    ["ridge", "ridge alpha=1e1", "ridge alpha=100.0", "drawn alpha=83.81", "drawn alpha=24.23"],
  );
  assert.match(JSON.stringify(candidates[1]!.settings.estimator.params), /"alpha":1e1/);
});

test("faults name the candidate, and all are in one error", () => {
  const { code, data } = refusal([
    { model: "lightgbm", grid: { num_leafs: [2, 3] } },
    { model: "laso" },
    { model_params: { alpha: "x" } },
  ]);
  assert.equal(code, "invalid_model_params");
  assert.deepEqual(
    data.faults!.map(({ path }) => path),
    [
      "config.ML params.choice.candidates[0].grid.num_leafs",
      "config.ML params.choice.candidates[1].model",
      "config.ML params.choice.candidates[2].model_params.alpha",
    ],
  );
});

test("equal candidates, too many and too many fits are refused", () => {
  assert.match(
    refusal([{ model_params: { alpha: 300 } }]).message,
    /candidates\[0\]: ridge is the same as candidate 0/,
  );
  assert.match(
    refusal([{ grid: { alpha: [1, 2] } }, { model_params: { alpha: 2 } }]).message,
    /same as candidate 2/,
  );
  const grid = { alpha: Array.from({ length: 50 }, (_, i) => i), tol: [0.1, 0.2] };
  assert.match(refusal([{ grid }]).message, /expands to 101 candidates/);
  assert.match(
    refusal([{ grid: { alpha: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }], { warm_up: 1_000 }).message,
    /needs 10160 fits per ticker/,
  );
});

test("a search is a grid or draws, and a draw has one range in order", () => {
  const faults = (candidate: unknown) => refusal([candidate]).message;
  assert.match(faults({ draws: 2 }), /draws and draw belong together/);
  assert.match(faults({ draw: { alpha: { int: [1, 2] } } }), /draws and draw belong together/);
  assert.match(
    faults({ grid: { alpha: [1] }, draws: 1, draw: { alpha: { int: [1, 2] } } }),
    /has both grid and draw/,
  );
  assert.match(faults({ draws: 1, draw: { alpha: { log: [0, 1] } } }), /must be above 0 for log/);
  assert.match(faults({ draws: 1, draw: { alpha: { int: [1, 2], log: [1, 2] } } }), /exactly one of/);
  assert.match(faults({ draws: 1, draw: { alpha: { uniform: [2, 1] } } }), /low < high/);
});

test("a label names the arguments that differ from the config's own, and at most four", () => {
  const many = { num_leaves: 4, max_depth: 3, subsample: 0.5, min_child_samples: 9, reg_lambda: 1 };
  const { candidates } = choiceOf([
    { model_params: { alpha: 300.0, tol: 0.01 } },
    { model: "lasso", model_params: { alpha: 0.001 }, grid: { tol: [0.1, 0.2] } },
    { model: "lightgbm", model_params: many },
    { model: "lasso", label: "mine", model_params: { alpha: 0.5 } },
  ]);
  assert.deepEqual(
    candidates.map(({ label }) => label),
    [
      ...["ridge", "ridge tol=0.01", "lasso alpha=0.001 tol=0.1", "lasso alpha=0.001 tol=0.2"],
      ...["lightgbm num_leaves=4 max_depth=3 subsample=0.5 min_child_samples=9", "mine"],
    ],
  );
});

test("more draws than there are different points are refused", () => {
  const draw = { num_leaves: { int: [2, 4] } };
  assert.equal(choiceOf([{ model: "lightgbm", draws: 3, draw }]).candidates.length, 4);
  assert.match(
    refusal([{ model: "lightgbm", draws: 4, draw }]).message,
    /candidates\[0\]\.draws: 4 draws of only 3 different points/,
  );
  assert.match(refusal([{ draws: 2, draw: {} }]).message, /2 draws of a single point/);
});

test("keys that the schema's copy lacks are refused before a grid is expanded", () => {
  const held = ["5", "[]", "[1]", '{"length": 9}', '{"length": "1e15"}', `"${"x".repeat(20_000)}"`];
  const searches = held.map((value) => `{"grid": {"alpha": [1], "__proto__": ${value}}}`);
  const draw = '{"draws": 2, "draw": {"alpha": {"int": [1, 9]}, "__proto__": {"int": [1, 2]}}}';
  for (const entry of [...searches, draw, '{"grid": {"alpha": [[{"__proto__": 1}]]}}']) {
    const text = `{"ML params": {"model": "ridge", "choice": {"candidates": [{"model": "lasso"}, ${entry}]}}}`;
    assert.throws(() => parseMlSettings(text), {
      code: "invalid_request",
      message: /candidates\[1\]\.(grid|draw)\..*__proto__: is not a name/,
    });
  }
});

test("reading stops at a number of faults, although all candidates have more", () => {
  let resolved = 0;
  const faults = Array.from({ length: 250 }, (_, i) => ({ path: `p${i}`, message: "is wrong" }));
  const draw = { alpha: { uniform: [0, 1] as [number, number] } };
  const reader: CandidateReader<object, { draws: number; draw: typeof draw }> = {
    ...{ section: "config", own: {}, identity: [] },
    nameOf: () => "own",
    valuesOf: () => ({}),
    resolve() {
      resolved++;
      throw invalidRequest(faults);
    },
  };
  const choice = { candidates: [{ draws: 99, draw }], rule: "best", measure: "ic", seed: 42 } as const;
  assert.throws(() => readCandidates(choice, [{}], reader), { message: /^p0: is wrong; / });
  assert.equal(resolved, 10);
});

test("a grid beyond every number of candidates is refused before it is expanded", () => {
  const lists = Array.from({ length: 155 }, (_, i) => [`p${i}`, Array<number>(100).fill(0)]);
  const { message } = refusal([{ grid: Object.fromEntries(lists) }]);
  assert.match(message, /expands to more than 9007199254740991 candidates/);
});
