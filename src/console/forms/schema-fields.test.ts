import assert from "node:assert/strict";
import { test } from "node:test";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { formSchemasText } from "../../service/http/page-routes.ts";
import { pathName } from "./faults.ts";
import { placeholderText } from "./field-text.ts";
import { labelOf } from "./labels.ts";
import { allParts, type Field, formParts, prunable } from "./schema-fields.ts";

const SCHEMAS = JSON.parse(formSchemasText()) as FormSchemas;

function partsOf(operation: keyof FormSchemas["payloads"]) {
  return formParts(SCHEMAS.payloads[operation]);
}

/** The path and kind of every field. */
function kindsOf(operation: keyof FormSchemas["payloads"]): Record<string, string> {
  return Object.fromEntries(allParts(partsOf(operation)).map((part) => [pathName(part.path), part.kind]));
}

function fieldOf(operation: keyof FormSchemas["payloads"], path: string): Field {
  return allParts(partsOf(operation)).find((part) => pathName(part.path) === path) as Field;
}

test("every member of run_ml_job's payload has a control of its kind, in the schema's order, except old names", () => {
  assert.deepEqual(Object.entries(kindsOf("run_ml_job")), [
    ["feature_url", "text"],
    ["data_extractor_url", "text"],
    ["config", "group"],
    ["config.ML params", "group"],
    ["config.ML params.model", "choice"],
    ["config.ML params.model_params", "json"],
    ["config.ML params.ensemble", "integer"],
    ["config.ML params.cv_test_size", "integer"],
    ["config.ML params.n_splits", "integer"],
    ["config.ML params.intervals", "group"],
    ["config.ML params.intervals.enabled", "flag"],
    ["config.ML params.intervals.alpha", "number"],
    ["config.ML params.intervals.bound", "choice"],
    ["config.ML params.intervals.method", "choice"],
    ["config.ML params.scaler", "choice"],
    ["config.ML params.shrinkage", "choice"],
    ["config.ML params.fit", "choice"],
    ["config.ML params.delay", "integer"],
    ["config.ML params.target", "choice"],
    ["config.ML params.cross_section", "flag"],
    ["config.ML params.smoothing", "group"],
    ["config.ML params.smoothing.half_life", "number"],
    ["config.ML params.refit_every", "integer"],
    ["config.ML params.window", "integer"],
    ["config.ML params.choice", "group"],
    ["config.ML params.choice.candidates", "json"],
    ["config.ML params.choice.rule", "choice"],
    ["config.ML params.choice.measure", "choice"],
    ["config.ML params.choice.seed", "integer"],
    ["config.ML params.choice.warm_up", "integer"],
    ["config.ML params.importance", "flag"],
    ["start", "date"],
    ["end", "date"],
    ["learning_end", "date"],
    ["portable", "flag"],
    ["tags", "names"],
  ]);
});

function rangeOf(path: string) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = fieldOf("run_ml_job", path).bounds;
  return [minimum, maximum, exclusiveMinimum, exclusiveMaximum];
}

test("choices, defaults and bounds are those of the schema", () => {
  const model = fieldOf("run_ml_job", "config.ML params.model");
  assert.ok(model.isRequired);
  assert.deepEqual(model.choices.slice(0, 3), ["random_forest", "xgboost", "lightgbm"]);
  const scaler = fieldOf("run_ml_job", "config.ML params.scaler");
  assert.deepEqual(
    [scaler.choices, scaler.byDefault],
    [["none", "standard", "minmax", "robust", "maxabs"], '"none"'],
  );
  assert.deepEqual(rangeOf("config.ML params.n_splits"), [1, 1_000, undefined, undefined]);
  assert.deepEqual(rangeOf("config.ML params.intervals.alpha"), [undefined, undefined, 0, 1]);
  const layers = fieldOf(
    "run_dl_job",
    "config.NN params.Dot prediction.models_params.portfolio_lstm.hidden_dims",
  );
  assert.deepEqual([layers.kind, layers.byDefault], ["numbers", "[64,32]"]);
  assert.deepEqual([layers.bounds.minimum, layers.bounds.maximum], [1, 4_096]);
});

test("an empty number shows its default, also if only its description names it", () => {
  const shown = (operation: keyof FormSchemas["payloads"], path: string) =>
    placeholderText(fieldOf(operation, path));
  assert.equal(shown("run_ml_job", "config.ML params.n_splits"), "15");
  assert.equal(shown("run_ml_job", "config.ML params.cv_test_size"), "15");
  assert.deepEqual([shown("audit", "truncations"), shown("audit", "permutations")], ["5", "19"]);
  assert.equal(shown("run_ml_job", "config.ML params.refit_every"), undefined);
});

test("an entry of models_params counts with the network that the config chooses", () => {
  const entries = allParts(partsOf("run_dl_job")).filter(({ onlyWith }) => onlyWith !== undefined);
  assert.deepEqual(
    entries.map(({ name }) => name),
    ["lstm", "cnn", "transformer", "mlp", "portfolio_lstm", "portfolio_transformer"],
  );
  for (const { name, onlyWith } of entries) {
    assert.equal(pathName(onlyWith!.path), "config.NN params.Dot prediction.current option");
    assert.equal(onlyWith!.value, name);
  }
});

test("an empty section is removed if it means nothing, and kept if it switches something on", () => {
  const paths = prunable(partsOf("run_dl_job")).map((path) => path.at(-1));
  assert.ok(paths.includes("training_params") && paths.includes("models_params") && paths.includes("cnn"));
  assert.ok(!paths.includes("intervals") && !paths.includes("Dot prediction") && !paths.includes("config"));
});

test("the options of an audit and of a replay have controls, including lists", () => {
  const audit = kindsOf("audit");
  assert.deepEqual(
    [audit.checks, audit.accept, audit.quick, audit.truncations, audit.config, audit.operation],
    ["checks", "names", "flag", "integer", "json", "choice"],
  );
  assert.deepEqual(fieldOf("audit", "checks").choices, ["truncation", "restatement", "foresight", "skill"]);
  assert.deepEqual(Object.keys(kindsOf("replay")), [
    "output_url",
    "portable",
    "tags",
    "feature_url",
    "data_extractor_url",
    "config",
  ]);
});

test("the parameters of every model are offered with their defaults, without those that a config may not give", () => {
  const { models, parameters } = SCHEMAS;
  assert.deepEqual([models.rf, models.ridge], ["random_forest", "ridge"]);
  const lightgbm = parameters.lightgbm!.map(({ name }) => name);
  assert.ok(lightgbm.includes("num_leaves"));
  for (const refused of ["machines", "output_model", "gpu_platform_id", "early_stopping_round"])
    assert.ok(!lightgbm.includes(refused), refused);
  const alpha = parameters.ridge!.find(({ name }) => name === "alpha")!;
  assert.deepEqual([alpha.byDefault, alpha.takes], ["1.0", "a number or a list"]);
});

test("every field and section has words beside its name, except sections and networks that are names themselves", () => {
  const names = Object.keys(SCHEMAS.payloads).flatMap((operation) =>
    allParts(partsOf(operation as keyof FormSchemas["payloads"])).map(({ name }) => name),
  );
  const bare = [...new Set(names)].filter((name) => labelOf(name) === undefined);
  assert.deepEqual(bare, [
    "ML params",
    "NN params",
    "Dot prediction",
    "lstm",
    "cnn",
    "transformer",
    "mlp",
    "portfolio_lstm",
    "portfolio_transformer",
  ]);
});
