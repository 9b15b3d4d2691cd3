import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { describe, it } from "node:test";
import { MucastError } from "../src/contract/errors/errors.ts";
import { rawNumbers } from "../src/contract/json/json-text.ts";
import { parametersOf } from "../src/contract/model-params/catalogue.ts";
import { findModel, MODELS, type Model } from "../src/contract/model-params/models.ts";
import { type Estimator, type RawObject, resolveModelParams } from "../src/contract/model-params/resolve.ts";
import { findEnvironment } from "../src/engine/environment/environment.ts";

/** The results of test/model-params/fit_cases.py for one regressor. */
interface Fitted {
  readonly error: string | null;
  readonly shape: readonly number[];
  readonly finite: boolean;
  readonly repeats: boolean;
  readonly python: Readonly<Record<string, string>>;
  readonly trained_with: Readonly<Record<string, unknown>>;
}

/** A placeholder for a file in the folder of the fits. */
const FILE = "written.txt";

/** Fits in an initially empty folder, so that a library has written everything that is there afterwards. */
function fit(estimators: readonly object[]): { results: Fitted[]; written: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "mucast-model-params-"));
  try {
    const specs = JSON.stringify(estimators).replaceAll(`"${FILE}"`, JSON.stringify(join(folder, FILE)));
    const done = spawnSync(findEnvironment().python, [resolvePath("test/model-params/fit_cases.py")], {
      input: specs,
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
      env: {
        ...process.env,
        PYTHONPATH: resolvePath("engine"),
        PYTHONDONTWRITEBYTECODE: "1",
        OMP_NUM_THREADS: "1",
      },
    });
    assert.equal(done.status, 0, done.stderr);
    const results = JSON.parse(done.stdout) as Fitted[];
    return { results, written: readdirSync(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function resolve(model: Model, text: string): Estimator {
  return resolveModelParams({ model, rawParams: rawNumbers(text) as RawObject }).estimator;
}

/** The settings that make a fit quick, by model. */
const QUICK: Partial<Record<Model["name"], string>> = {
  random_forest: '"n_estimators": 3',
  xgboost: '"n_estimators": 3',
  lightgbm: '"n_estimators": 3',
  catboost: '"iterations": 3',
};

function acceptedCases(): { model: Model; text: string; spec: Estimator }[] {
  const objectives = (parameter: string, names: string[]) => names.map((name) => `"${parameter}": "${name}"`);
  const texts: [string, string[]][] = [
    ...MODELS.map(({ name }): [string, string[]] => [name, [""]]),
    ["random_forest", objectives("criterion", ["absolute_error", "friedman_mse"])],
    [
      "xgboost",
      objectives("objective", [
        ...["reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror"],
        "reg:squaredlogerror",
      ]),
    ],
    [
      "lightgbm",
      objectives("objective", [
        ...["l2", "mse", "rmse", "l2_root", "l1", "mae", "mape", "huber", "fair", "quantile", "MSE"],
      ]),
    ],
    [
      "catboost",
      objectives("loss_function", [
        ...["RMSE", "MAE", "Quantile:alpha=0.1", "Huber:delta=1.0", "Lq:q=2", "LogCosh", "MAPE"],
        "Expectile:alpha=0.3",
      ]),
    ],
    [
      "random_forest",
      ['"random_state": null, "max_features": 1.0, "n_jobs": 8', '"random_state": 1, "max_features": 1'],
    ],
    ["ridge", ['"solver": "sag", "random_state": null, "alpha": 1']],
    ["lasso", ['"selection": "random", "random_state": null, "alpha": 1e-4, "copy_X": false']],
    ["quantile", ['"solver_options": {"maxiter": 1000}, "alpha": 0']],
    [
      "xgboost",
      [
        '"objective": "reg:quantileerror", "quantile_alpha": [0.5]',
        '"random_state": 2147483647, "nthread": 16, "lambda": 2, "seed_per_iteration": false',
        '"random_state": null, "subsample": 0.5, "booster": "gblinear"',
      ],
    ],
    [
      "lightgbm",
      ['"nthreads": 16, "eta": 0.05, "min_data": 7, "random_state": null, "bagging_fraction": 0.5'],
    ],
    ["catboost", ['"thread_count": 16, "eta": 0.05, "random_state": null, "silent": true, "depth": 4.0']],
  ];
  return texts.flatMap(([name, given]) => {
    const model = findModel(name);
    return given.map((own) => {
      const text = `{${[QUICK[model.name], own].filter((part) => part).join(", ")}}`;
      return { model, text, spec: resolve(model, text) };
    });
  });
}

/**
 * Parameters of a component that the default settings do not build: xgboost does not check their values. Also importance_type, which no fit
 * uses.
 */
const UNREAD = new Set([
  ...["default_direction", "feature_selector", "huber_slope", "normalize_type", "one_drop", "opt_dense_col"],
  ...["rate_drop", "sample_type", "skip_drop", "sparse_threshold", "tolerance", "top_k", "importance_type"],
]);

/** Every value that a type rule refuses, in a call of the library's constructor. */
function refusedCases(): object[] {
  const samples = ["null", "true", "1", "1.0", "0.5", '"abc"', "[1,2]", '{"0":1}'];
  return eachParameter((model, name) =>
    samples
      .filter((value) => !UNREAD.has(name) && isRefusedByType(model, name, value))
      .map((value) => {
        const [few, silence] =
          model.name === "catboost"
            ? ["iterations", { verbose: false, allow_writing_files: false }]
            : ["n_estimators", {}];
        const quick = parametersOf(model.name).byName.has(few) && name !== few ? { [few]: 2 } : {};
        const quiet =
          name === "silent" || name === "logging_level" ? { allow_writing_files: false } : silence;
        const params = { ...quick, ...quiet, [name]: rawNumbers(value) };
        return { library: model.library, class: model.className, params };
      }),
  );
}

function isRefusedByType(model: Model, name: string, value: string): boolean {
  try {
    resolve(model, `{${JSON.stringify(name)}: ${value}}`);
    return false;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    return error.data.faults?.every(({ message }) => /^must be (?!false)/.test(message)) ?? false;
  }
}

/** A regressor with a file name in every parameter that accepts one. */
function fileNameCases(): object[] {
  const values = [`"${FILE}"`, `["${FILE}"]`, `{"0": "${FILE}"}`];
  return eachParameter((model, name) =>
    values.flatMap((value) => {
      try {
        return [resolve(model, `{${JSON.stringify(name)}: ${value}}`)];
      } catch (error) {
        if (error instanceof MucastError) return [];
        throw error;
      }
    }),
  );
}

function eachParameter(cases: (model: Model, name: string) => object[]): object[] {
  return MODELS.flatMap((model) =>
    [...parametersOf(model.name).byName.keys()].flatMap((name) => cases(model, name)),
  );
}

const accepted = acceptedCases();
const refused = refusedCases();
const fileNames = fileNameCases();
// One process for all, because most of its time goes into imports.
const { results, written } = fit([...accepted.map(({ spec }) => spec), ...refused, ...fileNames]);

describe("the library accepts what the rules accept", () => {
  for (const [index, { model, text }] of accepted.entries()) {
    it(`${model.name} ${text}`, () => {
      const { error, shape, finite, repeats } = results[index]!;
      assert.deepEqual(
        { error, shape, finite, repeats },
        { error: null, shape: [60], finite: true, repeats: true },
      );
    });
  }

  const resultOf = (name: string, part: string): Fitted =>
    results[accepted.findIndex(({ model, text }) => model.name === name && text.includes(part))]!;

  it("and numbers have the same meaning in Python as in the caller's text", () => {
    assert.equal(resultOf("random_forest", '"max_features": 1.0').python.max_features, "1.0");
    assert.equal(resultOf("random_forest", '"max_features": 1}').python.max_features, "1");
    assert.equal(resultOf("lasso", "1e-4").python.alpha, "0.0001");
  });

  it("and aliases take effect, even if the library would prefer its own default", () => {
    const { trained_with: lightgbm } = resultOf("lightgbm", '"eta"');
    assert.deepEqual(
      [lightgbm.learning_rate, lightgbm.min_data_in_leaf, lightgbm.bagging_fraction, lightgbm.num_threads],
      [0.05, 7, 0.5, 1],
    );
    const { trained_with: xgboost } = resultOf("xgboost", '"lambda"');
    assert.deepEqual([xgboost.reg_lambda, xgboost.nthread, xgboost.seed], ["2", "1", "2147483647"]);
    const { trained_with: catboost } = resultOf("catboost", '"eta"');
    assert.deepEqual([catboost.depth, catboost.learning_rate], [4, Math.fround(0.05)]);
  });
});

it("the library also refuses the values that are refused for their type", () => {
  assert.ok(refused.length > 500, `${refused.length} cases`);
  const taken = refused.filter((_, index) => results[accepted.length + index]!.error === null);
  assert.deepEqual(taken, []);
});

describe("no file", () => {
  it("is written by accepted arguments, whatever accepts a string", () => {
    assert.ok(fileNames.length > 50, `${fileNames.length} cases`);
    assert.deepEqual(written, []);
  });

  it("would go undetected", () => {
    const params = { iterations: 1, verbose: false, allow_writing_files: false, output_borders: FILE };
    assert.deepEqual(fit([{ library: "catboost", class: "CatBoostRegressor", params }]).written, [FILE]);
  });
});
