import assert from "node:assert/strict";
import { test } from "node:test";
import { formSchemasText } from "../../service/http/page-routes.ts";
import { readTree } from "./draft.ts";
import { pathName } from "./faults.ts";
import { acceptedText, placeholderText } from "./field-text.ts";
import { labelOf } from "./labels.ts";
import { candidatesText } from "./model-settings.ts";
import {
  type Forms,
  isApplicable,
  isSpare,
  kindOf,
  type Member,
  membersOf,
  readForms,
  schemaAt,
} from "./schema.ts";

const FORMS = readForms(formSchemasText());
type Operation = keyof Forms["payloads"];

/** Every member, with those of groups after them. */
function allOf(operation: Operation): Member[] {
  const within = (members: readonly Member[]): Member[] =>
    members.flatMap((member) => [
      member,
      ...(kindOf(member.schema) === "group" ? within(membersOf(member.schema, member.path)) : []),
    ]);
  return within(membersOf(FORMS.payloads[operation]));
}

const kindsOf = (operation: Operation) =>
  allOf(operation).map(({ path, schema }) => [pathName(path), kindOf(schema)]);
const at = (operation: Operation, ...path: string[]) => schemaAt(FORMS.payloads[operation], path)!;

test("every member of a job's payload has a control of its kind, except old names", () => {
  const named = (kind: string) =>
    kindsOf("run_ml_job").flatMap(([path, each]) => (each === kind ? [path] : []));
  assert.deepEqual(named("text"), ["feature_url", "data_extractor_url"]);
  assert.deepEqual(named("json"), ["config.ML params.model_params"]);
  assert.deepEqual(named("entries"), ["config.ML params.choice.candidates"]);
  assert.deepEqual(named("names"), ["tags"]);
  assert.deepEqual(named("date"), ["start", "end", "learning_end"]);
  assert.ok(named("choice").includes("config.ML params.model"));
  assert.ok(named("group").includes("config.ML params.intervals"));
  assert.ok(!named("integer").includes("config.ML params.test_size"));
  const audit = Object.fromEntries(kindsOf("audit"));
  assert.deepEqual(
    [audit.checks, audit.accept, audit.config, audit.operation],
    ["checks", "names", "json", "choice"],
  );
});

test("a field says its range in words, and an empty one its default, also if only its description names it", () => {
  const ml = (...path: string[]) => at("run_ml_job", "config", "ML params", ...path);
  const layers = at(
    "run_dl_job",
    ...["config", "NN params", "Dot prediction", "models_params", "portfolio_lstm", "hidden_dims"],
  );
  for (const [schema, accepted, placeholder] of [
    [ml("n_splits"), "An integer, 1 to 1,000.", "15"],
    [ml("cv_test_size"), "An integer, 1 to 10,000.", "15"],
    [ml("intervals", "alpha"), "A number, above 0 and below 1.", "0.1"],
    [ml("scaler"), "", "none"],
    [layers, "Comma-separated integers, each 1 to 4,096.", "64, 32"],
    [at("audit", "truncations"), "An integer, 1 to 100.", "5"],
    [
      { type: "number", exclusiveMinimum: 0, maximum: 1e30 },
      "A number, above 0 and at most 1e+30.",
      undefined,
    ],
  ] as const)
    assert.deepEqual([acceptedText(schema), placeholderText(schema)], [accepted, placeholder]);
});

test("the sizes of a network count with the network that the config chooses", () => {
  const tree = readTree(
    '{"config": {"NN params": {"Dot prediction": {"current option": "cnn"}}}}',
    "payload",
  );
  const sizes = allOf("run_dl_job").filter(({ path }) => path.at(-2) === "models_params");
  assert.deepEqual(
    sizes.map(({ name }) => name),
    ["lstm", "cnn", "transformer", "mlp", "portfolio_lstm", "portfolio_transformer"],
  );
  assert.deepEqual(
    sizes.filter((member) => isApplicable(member, tree)).map(({ name }) => name),
    ["cnn"],
  );
});

test("an empty section is removed if it means nothing, and kept if it switches something on", () => {
  const spare = allOf("run_dl_job")
    .filter(({ path, schema }) => kindOf(schema) === "group" && isSpare(FORMS.payloads.run_dl_job, path))
    .map(({ name }) => name);
  for (const name of ["training_params", "models_params", "cnn"]) assert.ok(spare.includes(name), name);
  for (const name of ["intervals", "Dot prediction", "config"]) assert.ok(!spare.includes(name), name);
});

test("the parameters of every model are offered with their defaults, without those that a config may not give", () => {
  const { models, parameters } = FORMS;
  assert.deepEqual([models.rf, models.ridge], ["random_forest", "ridge"]);
  const lightgbm = parameters.lightgbm!.map(({ name }) => name);
  assert.ok(lightgbm.includes("num_leaves"));
  for (const refused of ["machines", "output_model", "gpu_platform_id", "early_stopping_round"])
    assert.ok(!lightgbm.includes(refused), refused);
  const alpha = parameters.ridge!.find(({ name }) => name === "alpha")!;
  assert.deepEqual([alpha.byDefault, alpha.takes], ["1.0", "a number or a list"]);
});

test("a choice says how many candidates and fits its entries give", () => {
  const path = ["config", "ML params", "choice", "candidates"];
  const words = (candidates: unknown, more = {}) => {
    const payload = { config: { "ML params": { n_splits: 20, choice: { candidates, ...more } } } };
    return candidatesText(readTree(JSON.stringify(payload), "payload"), path, FORMS.payloads.run_ml_job);
  };
  const grid = { n_estimators: [50, 100, 200], num_leaves: [2, 4] };
  const entries = [{ model: "lasso" }, { grid }, { draws: 7, draw: { alpha: { log: [0.1, 10] } } }];
  assert.equal(words(entries, { warm_up: 0 }), "15 candidates with the config itself, 315 fits per ticker.");
  assert.equal(words([{}]), "2 candidates with the config itself, 72 fits per ticker.");
  assert.equal(words("x"), "");
});

test("labels are words, of the table or of the name", () => {
  const labels = ["n_splits", "learning_rate", "ML params", "constructor"].map(labelOf);
  assert.deepEqual(labels, ["Folds", "Learning rate", undefined, "Constructor"]);
});
