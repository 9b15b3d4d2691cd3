import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { MucastError } from "../src/contract/errors.ts";
import { rawNumbers } from "../src/contract/json-text.ts";
import { type Parameter, parametersOf } from "../src/contract/model-params/catalogue.ts";
import { findModel, MODELS, type Model } from "../src/contract/model-params/models.ts";
import { type Estimator, type RawObject, resolveModelParams } from "../src/contract/model-params/resolve.ts";
import { findEnvironment } from "../src/engine/environment.ts";

/** What test/model-params/fit_cases.py says about one regressor. */
interface Fitted {
  readonly error: string | null;
  readonly shape: readonly number[];
  readonly finite: boolean;
  readonly repeats: boolean;
  readonly python: Readonly<Record<string, string>>;
  readonly trained_with: Readonly<Record<string, unknown>>;
}

function python(args: readonly string[], input = ""): string {
  const done = spawnSync(findEnvironment().python, args, {
    input,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    env: { ...process.env, PYTHONPATH: "engine", PYTHONDONTWRITEBYTECODE: "1", OMP_NUM_THREADS: "1" },
  });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout;
}

function fit(estimators: readonly object[]): Fitted[] {
  return JSON.parse(python(["test/model-params/fit_cases.py"], JSON.stringify(estimators))) as Fitted[];
}

function resolve(model: Model, text: string): Estimator {
  return resolveModelParams({ model, rawParams: rawNumbers(text) as RawObject }).estimator;
}

describe("the catalogue", () => {
  it("is what the installed libraries say", () => {
    const stored = readFileSync("src/contract/model-params/catalogue.json", "utf8");
    assert.equal(stored, python(["-m", "mucast_engine.catalogue"]));
  });
});

describe("what is accepted, the library accepts", () => {
  const few: Partial<Record<Model["name"], string>> = {
    random_forest: '"n_estimators": 3',
    xgboost: '"n_estimators": 3',
    lightgbm: '"n_estimators": 3',
    catboost: '"iterations": 3',
  };
  const withFew = ({ name }: Model, text: string) => {
    const own = text.slice(1, -1);
    return `{${[few[name], own].filter((part) => part).join(", ")}}`;
  };
  const losses: [string, string[]][] = [
    ["random_forest", ['{"criterion": "absolute_error"}', '{"criterion": "friedman_mse"}']],
    [
      "xgboost",
      [
        ...["squarederror", "linear", "absoluteerror", "pseudohubererror", "squaredlogerror"].map(
          (name) => `{"objective": "reg:${name}"}`,
        ),
        '{"objective": "reg:quantileerror", "quantile_alpha": [0.5]}',
      ],
    ],
    [
      "lightgbm",
      ["l2", "mse", "rmse", "l2_root", "l1", "mae", "mape", "huber", "fair", "quantile"].map(
        (name) => `{"objective": "${name}"}`,
      ),
    ],
    [
      "catboost",
      [
        "RMSE",
        "MAE",
        "Quantile:alpha=0.1",
        "Huber:delta=1.0",
        "Lq:q=2",
        "LogCosh",
        "Expectile:alpha=0.3",
        "MAPE",
      ].map((name) => `{"loss_function": "${name}"}`),
    ],
  ];
  const kept: [string, string][] = [
    ["random_forest", '{"random_state": null, "max_features": 1.0, "n_jobs": 8}'],
    ["random_forest", '{"max_features": 1}'],
    ["ridge", '{"solver": "sag", "random_state": null, "alpha": 1}'],
    ["lasso", '{"selection": "random", "random_state": null, "alpha": 1e-4, "copy_X": false}'],
    ["quantile", '{"solver_options": {"maxiter": 1000}, "alpha": 0}'],
    ["xgboost", '{"random_state": 2147483647, "nthread": 16, "lambda": 2, "seed_per_iteration": false}'],
    ["xgboost", '{"random_state": null, "subsample": 0.5, "booster": "gblinear"}'],
    [
      "lightgbm",
      '{"nthreads": 16, "eta": 0.05, "min_data": 7, "random_state": null, "bagging_fraction": 0.5}',
    ],
    ["catboost", '{"thread_count": 16, "eta": 0.05, "random_state": null, "silent": true, "depth": 4.0}'],
  ];
  const cases = [
    ...MODELS.map((model): [Model, string] => [model, withFew(model, "{}")]),
    ...[
      ...losses.flatMap(([name, texts]) => texts.map((text): [string, string] => [name, text])),
      ...kept,
    ].map(([name, text]): [Model, string] => [findModel(name), withFew(findModel(name), text)]),
  ];
  const results = fit(cases.map(([model, text]) => resolve(model, text)));
  const resultOf = (name: string, part: string): Fitted =>
    results[cases.findIndex(([model, text]) => model.name === name && text.includes(part))]!;

  for (const [index, [{ name }, text]] of cases.entries()) {
    it(`${name} ${text}`, () => {
      const { error, shape, finite, repeats } = results[index]!;
      assert.deepEqual(
        { error, shape, finite, repeats },
        { error: null, shape: [60], finite: true, repeats: true },
      );
    });
  }

  it("and numbers are in Python what they are in the caller's text", () => {
    assert.equal(resultOf("random_forest", '"max_features": 1.0').python.max_features, "1.0");
    assert.equal(resultOf("random_forest", '"max_features": 1}').python.max_features, "1");
    assert.equal(resultOf("lasso", "1e-4").python.alpha, "0.0001");
  });

  it("and aliases take effect, also where the library would let its own default win", () => {
    const { trained_with: lightgbm } = resultOf("lightgbm", '"eta"');
    assert.deepEqual(
      [lightgbm.learning_rate, lightgbm.min_data_in_leaf, lightgbm.bagging_fraction, lightgbm.num_threads],
      [0.05, 7, 0.5, 1],
    );
    const { trained_with: xgboost } = resultOf("xgboost", '"lambda"');
    assert.deepEqual([xgboost.reg_lambda, xgboost.nthread, xgboost.seed], ["2", "1", "2147483647"]);
    const { trained_with: catboost } = resultOf("catboost", '"eta"');
    assert.deepEqual([catboost.depth, Math.fround(0.05)], [4, catboost.learning_rate]);
  });
});

describe("what is refused for its type", () => {
  const samples = ["null", "true", "1", "1.0", "0.5", '"abc"', "[1,2]", '{"0":1}'];
  // Parameters of a component that the default settings do not build: xgboost reads any value past them.
  const unread = new Set(
    "default_direction feature_selector huber_slope normalize_type one_drop opt_dense_col rate_drop sample_type skip_drop sparse_threshold tolerance top_k".split(
      " ",
    ),
  );

  /** The case that a type rule refuses, as the library's constructor would be called; undefined where none does. */
  function refusedByType(model: Model, { name }: Parameter, value: string): object | undefined {
    const [few, silence] =
      model.name === "catboost" ? ["iterations", { verbose: false }] : ["n_estimators", {}];
    try {
      resolve(model, `{${JSON.stringify(name)}: ${value}}`);
      return undefined;
    } catch (error) {
      if (
        !(error instanceof MucastError) ||
        !error.data.faults?.every(({ message }) => message.startsWith("must be"))
      )
        return undefined;
    }
    const quick = parametersOf(model.name).byName.has(few) && name !== few ? { [few]: 2 } : {};
    const quiet = name === "silent" || name === "logging_level" ? {} : silence;
    const params = { ...quick, ...quiet, [name]: rawNumbers(value) };
    return { library: model.library, class: model.className, params };
  }

  it("the library refuses too", () => {
    const cases = MODELS.flatMap((model) =>
      [...parametersOf(model.name).byName.values()]
        .filter(
          ({ name }) => !unread.has(name) && name !== "allow_writing_files" && name !== "importance_type",
        )
        .flatMap((parameter) => samples.map((value) => refusedByType(model, parameter, value)))
        .filter((spec) => spec !== undefined),
    );
    assert.ok(cases.length > 500, `${cases.length} cases`);
    const wrong = fit(cases)
      .map(({ error }, index) => (error === null ? JSON.stringify(cases[index]) : undefined))
      .filter((spec) => spec !== undefined);
    assert.deepEqual(wrong, []);
  });
});
