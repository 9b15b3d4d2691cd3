import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import type { ErrorCode } from "../errors/error-codes.ts";
import { type Fault, MucastError } from "../errors/errors.ts";
import { valueAt } from "../errors/faults.ts";
import { dlConfigSchema, parseDlSettings } from "./dl-settings.ts";
import type { Operation } from "./job-operations.ts";
import { mlConfigSchema, parseMlSettings } from "./ml-settings.ts";
import { ownSection, parseConfig, REMOVED_SETTINGS } from "./parse-config.ts";

const ml = (params: object, beside: object = {}) =>
  parseConfig(JSON.stringify({ "ML params": params, ...beside }), mlConfigSchema, "run_ml_job");

function faults(body: () => unknown, code: ErrorCode = "invalid_request"): readonly Fault[] {
  try {
    body();
  } catch (error) {
    assert.ok(error instanceof MucastError);
    assert.equal(error.code, code);
    return error.data.faults ?? [];
  }
  return assert.fail("nothing was thrown");
}

test("fills in every default of run_ml_job", () => {
  const params = ml({ model: "ridge", intervals: {} }).value["ML params"];
  assert.deepEqual(params, {
    model: "ridge",
    model_params: {},
    cv_test_size: 15,
    ensemble: 1,
    n_splits: 15,
    intervals: { alpha: 0.1, bound: "both", method: "adaptive" },
    scaler: "none",
    shrinkage: "none",
    fit: "per_ticker",
    delay: 0,
    target: "return",
    cross_section: false,
    importance: false,
  });
});

test("test_size means cv_test_size, and different values for both are a fault", () => {
  assert.equal(ml({ model: "rf", test_size: 7 }).value["ML params"].cv_test_size, 7);
  assert.equal(ml({ model: "rf", test_size: 7, cv_test_size: 7 }).value["ML params"].cv_test_size, 7);
  assert.match(faults(() => ml({ model: "rf", test_size: 7, cv_test_size: 8 }))[0]!.path, /test_size/);
});

test("a section of another service is ignored with a warning, a stray value is a fault", () => {
  const { warnings } = ml({ model: "rf" }, { "NN params": { anything: 1 } });
  assert.deepEqual(
    warnings.map(({ code, message }) => [code, message]),
    [["ignored_section", "config.NN params belongs to another service and was ignored"]],
  );
  assert.equal(faults(() => ml({ model: "rf" }, { n_splits: 3 }))[0]!.path, "config.n_splits");
});

test("the fault of keys outside their section says where they belong, and the error contains their own faults", () => {
  const found = (text: string, wanted: Operation, schema: z.ZodType) =>
    faults(() => parseConfig(text, schema, wanted)).map(({ path, message }) => `${path}: ${message}`);
  assert.deepEqual(found('{"model": "ridge"}', "run_ml_job", mlConfigSchema), [
    'config.ML params: is required; put "model" inside it: {"ML params": {…}}',
  ]);
  assert.match(
    found('{"model": "ridge", "n_split": 3}', "run_ml_job", mlConfigSchema).join("\n"),
    /put "model", "n_split" inside it.*\nconfig\.ML params\.n_split: unknown key/,
  );
  assert.deepEqual(found('{"current option": "lstm"}', "run_dl_job", dlConfigSchema), [
    'config.NN params: is required; put "current option" inside it: {"NN params": {"Dot prediction": {…}}}',
  ]);
  assert.deepEqual(found('{"Dot prediction": {"current option": "lstm"}}', "run_dl_job", dlConfigSchema), [
    'config.NN params: is required; put "Dot prediction" inside it: {"NN params": {…}}',
  ]);
});

test("the fault of the other job's section names that job", () => {
  const [fault] = faults(() => parseConfig('{"NN params": {}}', mlConfigSchema, "run_ml_job"));
  assert.deepEqual(fault, {
    path: "config.ML params",
    message: 'is required; "NN params" is the section of run_dl_job',
  });
});

const ML = '{\n  "model": "ridge", "model_params": {"alpha": 1.0, "tol": 1e-04}\n}';

test("keeps only the job's own section, as it was written, and the names of those next to Dot prediction", () => {
  const beside = `\uFEFF {"keys": {"password": "hunter2"}, "\\u004dL params": ${ML} , "NN params": {"a": 1}}`;
  assert.equal(ownSection(beside, "run_ml_job"), ML);
  const own = '{ "current option" : "lstm" }';
  const section = `{ "Dot prediction": ${own} }`;
  assert.equal(ownSection(`{"ML params": ${ML}, "NN params":${section}}`, "run_dl_job"), section);
  const config = `{"NN params": {"Portfolio \\"x\\"": {"token": "hunter2"}, "Dot prediction": ${own}, "b": {}}}`;
  const kept = `{"Portfolio \\"x\\"": {}, "Dot prediction": ${own}, "b": {}}`;
  assert.equal(ownSection(config, "run_dl_job"), kept);
});

const CONFIGS = {
  "ML params": { model: "ridge", choice: { candidates: [{ model: "lasso" }] } },
  "NN params": { "Dot prediction": { "current option": "mlp", refit_every: 21 } },
};

for (const [path, harmless, why] of REMOVED_SETTINGS) {
  const name = `config.${path.join(".")}`;

  test(`${name} is refused with what to do instead, except the value that changes nothing`, () => {
    const settingsWith = (value: unknown) => {
      const config = structuredClone(CONFIGS);
      (valueAt(config, path.slice(0, -1)) as Record<string, unknown>)[path.at(-1)!] = value;
      return (path[0] === "ML params" ? parseMlSettings : parseDlSettings)(JSON.stringify(config)).settings;
    };
    assert.deepEqual(settingsWith(harmless), settingsWith(undefined));
    const message = `${name}: "other" was removed in 0.3.0 (see CHANGELOG.md); leave it out: ${why}`;
    assert.throws(() => settingsWith("other"), { code: "invalid_request", message });
  });
}
