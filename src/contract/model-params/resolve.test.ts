import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { parametersOf } from "./catalogue.ts";
import { MODELS, type ModelName } from "./models.ts";
import { outcome, refusal, resolve } from "./refusals.testing.ts";
import { type RawObject, resolveModelParams } from "./resolve.ts";

/** The constructor's arguments as JSON text. */
function passed(model: string, text = "{}"): string {
  return JSON.stringify(resolve(model, text).estimator.params);
}

function refuses(model: string, text: string, message: RegExp): void {
  const error = refusal(model, text);
  assert.equal(error?.code, "invalid_model_params", `${model} ${text}`);
  assert.equal(error.data.faults?.length, 1);
  assert.match(error.data.faults[0]!.message, message);
}

describe("the arguments that mucast adds", () => {
  const cases: [string, string][] = [
    ["random_forest", '{"n_jobs":1,"random_state":42}'],
    ["xgboost", '{"n_jobs":1,"random_state":42,"verbosity":0}'],
    ["lightgbm", '{"n_jobs":1,"random_state":42,"verbose":-1}'],
    ["catboost", '{"thread_count":1,"random_seed":42,"verbose":false,"allow_writing_files":false}'],
    ["linear", '{"n_jobs":1}'],
    ["ridge", '{"random_state":42}'],
    ["lasso", '{"random_state":42}'],
    ["elastic_net", '{"random_state":42}'],
    ["quantile", "{}"],
  ];
  it("are threads, seed and silence, if the constructor has them", () => {
    for (const [model, expected] of cases) {
      assert.equal(passed(model), expected);
      assert.deepEqual(resolve(model).warnings, []);
    }
  });

  it("do not replace the caller's seed, under any name, even if it is null", () => {
    assert.equal(passed("xgboost", '{"seed": 7}'), '{"random_state":7,"n_jobs":1,"verbosity":0}');
    assert.match(passed("lightgbm", '{"random_seed": 7}'), /^\{"random_state":7,/);
    assert.match(passed("catboost", '{"random_state": 7}'), /^\{"random_seed":7,/);
    assert.equal(passed("random_forest", '{"random_state": null}'), '{"random_state":null,"n_jobs":1}');
  });

  it("leave numbers as the caller wrote them", () => {
    assert.match(passed("random_forest", '{"max_features": 1.0}'), /"max_features":1\.0,/);
    assert.match(passed("random_forest", '{"max_features": 1}'), /"max_features":1,/);
    assert.match(passed("xgboost", '{"random_state": 9007199254740993}'), /:9007199254740993,/);
  });
});

it("threads are one, with a warning if another number is requested under any name", () => {
  const threads = {
    random_forest: "n_jobs",
    xgboost: "n_jobs",
    lightgbm: "n_jobs",
    catboost: "thread_count",
  };
  for (const [model, own] of Object.entries(threads)) {
    const { aliases } = parametersOf(model as ModelName).byName.get(own)!;
    for (const name of [own, ...aliases]) {
      const { estimator, warnings } = resolve(model, `{"${name}": 4}`);
      assert.match(JSON.stringify(estimator.params), /"(n_jobs|thread_count)":1[,}]/);
      const [{ code, message } = assert.fail()] = warnings;
      assert.equal(code, "threads_capped");
      assert.ok(message.startsWith(`${name}: 4 was replaced by 1;`), message);
      assert.deepEqual(resolve(model, `{"${name}": null}`).warnings, []);
    }
  }
});

describe("names", () => {
  it("that are unknown are faults with the nearest documented name and all accepted ones", () => {
    const { message, data } = refusal("ridge", '{"alhpa": 1.0}')!;
    assert.equal(
      message,
      'params.alhpa: Ridge of scikit-learn has no parameter called "alhpa" (did you mean alpha?)',
    );
    assert.ok(data.accepted?.includes("fit_intercept"));
    assert.match(outcome("lightgbm", '{"num_leafs": 3}'), /did you mean num_leaves\?/);
    const { accepted } = refusal("lightgbm", '{"learning_rat": 1}')!.data;
    assert.ok(accepted?.includes("learning_rate"));
    assert.ok(!accepted?.includes("machines") && !accepted?.includes("input_model"));
    assert.equal(refusal("lightgbm", '{"num_leaves": "many"}')!.data.accepted, undefined);
  });

  it("are resolved to the constructor's own, because lightgbm's defaults would otherwise take precedence", () => {
    assert.equal(
      passed("lightgbm", '{"eta": 0.05, "num_leaf": 7, "min_data": 5, "lambda": 1}'),
      '{"learning_rate":0.05,"num_leaves":7,"min_child_samples":5,"reg_lambda":1,"n_jobs":1,"random_state":42,"verbose":-1}',
    );
    assert.match(passed("xgboost", '{"eta": 0.1, "alpha": 1}'), /^\{"learning_rate":0\.1,"reg_alpha":1,/);
    assert.match(passed("catboost", '{"num_trees": 9}'), /^\{"iterations":9,/);
  });

  it("of one parameter may occur only once", () => {
    for (const { name: model } of MODELS) {
      for (const { name, aliases } of parametersOf(model).byName.values()) {
        for (const alias of aliases) {
          const said = outcome(model, JSON.stringify({ [name]: null, [alias]: null }));
          assert.match(said, /two names of one parameter|not allowed/, `${name} ${alias}`);
        }
      }
    }
    refuses("lightgbm", '{"seed": 1, "random_seed": 1}', /^seed and random_seed are two names/);
    refuses("catboost", '{"verbose": false, "silent": true}', /^verbose says the same/);
  });
});

describe("types", () => {
  const wrong: [string, string, RegExp][] = [
    ["ridge", '{"alpha": "1"}', /must be a number or a list, got "1"/],
    ["ridge", '{"fit_intercept": 1}', /must be true or false, got 1/],
    ["ridge", '{"solver": "sagg"}', /must be one of auto, .*, got "sagg"/],
    ["lasso", '{"max_iter": 10.0}', /must be an integer or null, got 10\.0/],
    ["quantile", '{"solver_options": {"maxiter": "9"}}', /must be an integer, got "9"/],
    ["quantile", '{"solver_options": {"maxitre": 9}}', /is not one of the options maxiter/],
    ["xgboost", '{"verbosity": "/etc/passwd"}', /must be an integer from 0 to 3/],
    ["random_forest", '{"n_estimators": 1e2}', /must be an integer, got 1e2/],
    ["random_forest", '{"max_features": "auto"}', /must be one of log2, sqrt/],
    ["lightgbm", '{"num_leaves": 31.0}', /must be an integer or null, got 31\.0/],
    ["lightgbm", '{"n_estimators": null}', /must be an integer, got null/],
    ["xgboost", '{"eta": "fast"}', /must be a number or null, got "fast"/],
    ["xgboost", '{"missing": null}', /must be a number, got null/],
    ["catboost", '{"depth": 6.5}', /must be an integer or null, got 6\.5/],
  ];
  it("that no library accepts are faults", () => {
    for (const [model, text, message] of wrong) refuses(model, text, message);
  });
});

it("one error has every fault with its path", () => {
  const text =
    '{"num_leaves": "many", "machines": "a:1", "early_stopping_round": 5, "objective": "binary", "depht": 3, "eta": 1, "learning_rate": 1, "device": "gpu"}';
  const { code, data } = refusal("lightgbm", text)!;
  assert.equal(code, "invalid_model_params");
  assert.deepEqual(
    data.faults?.map(({ path }) => path.slice("params.".length)),
    ["num_leaves", "machines", "early_stopping_round", "depht", "learning_rate", "objective", "device"],
  );
});

describe("the record", () => {
  it("has the library's own defaults, with floats as floats, and the caller's values under the constructor's names", () => {
    assert.match(
      JSON.stringify(resolve("random_forest").resolved),
      /"max_features":1\.0,.*"n_estimators":100,/,
    );
    const { resolved } = resolve("lightgbm", '{"eta": 0.050, "path_smooth": 1.0}');
    assert.match(JSON.stringify(resolved), /"learning_rate":0\.050,.*"path_smooth":1\.0/);
    assert.ok(!Object.hasOwn(resolved, "eta"));
  });
});

it("answers any JSON object with a result or its own error, and never changes its input", () => {
  const names = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom(...MODELS.flatMap(({ name }) => [...parametersOf(name).byAnyName.keys()])),
  );
  const object = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 });
  fc.assert(
    fc.property(fc.constantFrom(...MODELS), object, (model, params) => {
      const raw = rawNumbers(JSON.stringify(params)) as RawObject;
      const before = JSON.stringify(raw);
      try {
        const { estimator } = resolveModelParams({ model, rawParams: raw });
        assert.doesNotThrow(() => JSON.parse(JSON.stringify(estimator.params)));
      } catch (error) {
        assert.ok(error instanceof MucastError, String(error));
        assert.ok((error.data.faults?.length ?? 0) > 0);
      }
      assert.equal(JSON.stringify(raw), before);
    }),
    { numRuns: 500 },
  );
});
