import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MucastError } from "../errors/errors.ts";
import { drawnPoints } from "./candidates.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { parseMlSettings } from "./ml-settings.ts";

function refusalOf(read: () => unknown): MucastError {
  try {
    read();
  } catch (error) {
    return error as MucastError;
  }
  return assert.fail("accepted");
}

const labels = ({ candidates }: { readonly candidates: readonly { label: string }[] }) =>
  candidates.map(({ label }) => label);

describe("candidates of run_ml_job", () => {
  const OWN = { model: "ridge", model_params: { alpha: 300 }, scaler: "standard" };

  function choiceOf(candidates: readonly unknown[], others: object = {}, config: object = {}) {
    const text = JSON.stringify({ "ML params": { ...OWN, ...config, choice: { candidates, ...others } } });
    return parseMlSettings(text).settings.choice!;
  }
  const refusal = (candidates: readonly unknown[], others: object = {}) =>
    refusalOf(() => choiceOf(candidates, others));

  it("begin with the config itself, and inherit what they do not set", () => {
    const choice = choiceOf([
      { model_params: { alpha: 1000 } },
      { model: "lightgbm", scaler: "none", fit: "pooled", target: "relative" },
      { model: "lasso" },
    ]);
    const { candidates, rule, seed, warm_up } = choice;
    assert.deepEqual({ rule, seed, warm_up }, { rule: "mean", seed: 42, warm_up: 15 });
    assert.deepEqual(
      candidates.map(({ settings: { model, scaler, fit, target, model_params } }) => [
        ...[model.name, scaler, fit, target, JSON.stringify(model_params.alpha)],
      ]),
      [
        ["ridge", "standard", "per_ticker", "return", "300"],
        ["ridge", "standard", "per_ticker", "return", "1000"],
        ["lightgbm", "none", "pooled", "relative", undefined],
        ["lasso", "standard", "per_ticker", "return", "1.0"],
      ],
    );
    assert.deepEqual(labels(choice), [
      "ridge",
      "ridge alpha=1000",
      "lightgbm pooled relative unscaled",
      "lasso",
    ]);
  });

  it("have labels of at most four arguments that differ from the config's own", () => {
    const many = { num_leaves: 4, max_depth: 3, subsample: 0.5, min_child_samples: 9, reg_lambda: 1 };
    const choice = choiceOf([
      { model_params: { alpha: 300.0, tol: 0.01 } },
      { model: "lasso", model_params: { alpha: 0.001 }, grid: { tol: [0.1, 0.2] } },
      { model: "lightgbm", model_params: many },
      { model: "lasso", label: "mine", model_params: { alpha: 0.5 } },
    ]);
    assert.deepEqual(labels(choice), [
      ...["ridge", "ridge tol=0.01", "lasso alpha=0.001 tol=0.1", "lasso alpha=0.001 tol=0.2"],
      ...["lightgbm num_leaves=4 max_depth=3 subsample=0.5 min_child_samples=9", "mine"],
    ]);
  });

  it("have faults that name the entry and its grid, all in one error", () => {
    const { code, data } = refusal([
      { model: "lightgbm", grid: { num_leafs: [2, 3] } },
      { model: "laso" },
      { model_params: { alpha: "x" } },
    ]);
    assert.equal(code, "invalid_model_params");
    assert.deepEqual(
      data.faults!.map(({ path }) => path.replace("config.ML params.choice.", "")),
      ["candidates[0].grid.num_leafs", "candidates[1].model", "candidates[2].model_params.alpha"],
    );
  });

  it("must differ, and be few", () => {
    const grid = { alpha: Array.from({ length: 50 }, (_, i) => i), tol: [0.1, 0.2] };
    const beyond = Array.from({ length: 155 }, (_, i) => [`p${i}`, Array<number>(100).fill(0)]);
    const draw = { num_leaves: { int: [2, 4] } };
    assert.equal(choiceOf([{ model: "lightgbm", draws: 3, draw }]).candidates.length, 4);
    const cases: [candidates: unknown[], message: RegExp][] = [
      [[{ model_params: { alpha: 300 } }], /candidates\[0\]: ridge is the same as candidate 0/],
      [[{ grid: { alpha: [1, 2] } }, { model_params: { alpha: 2 } }], /same as candidate 2/],
      [[{ grid }], /expands to 101 candidates/],
      [[{ grid: Object.fromEntries(beyond) }], /expands to more than 9007199254740991 candidates/],
      [[{ model: "lightgbm", draws: 4, draw }], /candidates\[0\]\.draws: 4 draws of only 3 different points/],
      [[{ draws: 2, draw: {} }], /2 draws of a single point/],
      [[{ draws: 2 }], /draws and draw belong together/],
      [[{ draw: { alpha: { int: [1, 2] } } }], /draws and draw belong together/],
      [[{ grid: { alpha: [1] }, draws: 1, draw }], /has both grid and draw/],
      [[{ draws: 1, draw: { alpha: { log: [0, 1] } } }], /must be above 0 for log/],
      [[{ draws: 1, draw: { alpha: { int: [1, 2], log: [1, 2] } } }], /exactly one of/],
      [[{ draws: 1, draw: { alpha: { uniform: [2, 1] } } }], /low < high/],
    ];
    for (const [candidates, message] of cases) assert.match(refusal(candidates).message, message);
    const nine = { alpha: [1, 2, 3, 4, 5, 6, 7, 8, 9] };
    assert.match(refusal([{ grid: nine }], { warm_up: 1_000 }).message, /needs 10160 fits per ticker/);
    const seeds = [{ model: "lightgbm", ensemble: 50, grid: { num_leaves: [2, 3, 4, 5] } }];
    assert.match(
      refusal(seeds, { warm_up: 100 }).message,
      /needs \d+ fits per ticker \(5 candidates of 201 regressors/,
    );
  });
});

describe("candidates of run_dl_job", () => {
  const OWN = { "current option": "lstm", training_params: { epochs: 7, learning_rate: 0.01 } };

  function choiceOf(candidates: readonly unknown[], own: object = OWN) {
    const text = JSON.stringify({ "NN params": { "Dot prediction": { ...own, choice: { candidates } } } });
    return parseDlSettings(text).settings.choice!;
  }

  it("are the config itself with the members that they set", () => {
    const choice = choiceOf([
      { "current option": "mlp", models_params: { mlp: { hidden_dims: [8] } } },
      { training_params: { learning_rate: 0.001 }, data_processing: { lookback: 5 }, target: "relative" },
    ]);
    assert.deepEqual(
      choice.candidates.map(({ settings: { network, training, lookback, target, calibrates, joint } }) => [
        ...[
          network.architecture,
          training.epochs,
          training.learning_rate,
          lookback,
          target,
          calibrates,
          joint,
        ],
      ]),
      [
        ["lstm", 7, 0.01, 10, "return", true, false],
        ["mlp", 7, 0.01, 10, "return", true, false],
        ["lstm", 7, 0.001, 5, "relative", true, false],
      ],
    );
    const last = "lstm relative learning_rate=0.001 lookback=5";
    assert.deepEqual(labels(choice), ["lstm", "mlp hidden_dims=[8]", last]);
  });

  it("have the values of a search in the section of their name", () => {
    const grid = { learning_rate: [0.1, 0.2], lookback: [3], hidden_dims: [[4], [8, 4]] };
    const { candidates } = choiceOf([{ "current option": "mlp", grid }]);
    assert.deepEqual(
      candidates
        .slice(1)
        .map(({ settings: { network, training, lookback } }) => [
          ...[training.learning_rate, lookback, "hidden_dims" in network && network.hidden_dims],
        ]),
      [0.1, 0.2].flatMap((rate) => [
        [rate, 3, [4]],
        [rate, 3, [8, 4]],
      ]),
    );
  });

  it("have faults that name the entry, and must differ", () => {
    const refusal = (candidates: readonly unknown[], own?: object) =>
      refusalOf(() => choiceOf(candidates, own));
    const { data } = refusal([
      { training_params: { epochs: 0 } },
      { "current option": "lstn" },
      { grid: { widht: [1] } },
    ]);
    assert.deepEqual(
      data.faults!.map(({ path }) => path.replace("config.NN params.Dot prediction.choice.candidates", "")),
      ["[0].training_params.epochs", "[1].current option", "[2].models_params.lstm.widht"],
    );
    assert.match(refusal([{ training_params: { epochs: 7 } }]).message, /is the same as candidate 0/);
    const joint = { "current option": "portfolio_lstm", training_params: { monitor: "ic" } };
    assert.match(
      refusal([{ "current option": "mlp" }], joint).message,
      /candidates\[0\]\.training_params\.monitor: must be loss for mlp/,
    );
  });
});

describe("points of a search", () => {
  const texts = (points: Iterable<ReadonlyMap<string, unknown>>) =>
    [...points].map((point) => JSON.stringify(Object.fromEntries(point)));
  const draw = (draws: number, specs: object, seed = 42, stream = 0) =>
    texts(drawnPoints(draws, specs as never, seed, stream));

  it("of draws stay in their ranges, as the numbers that the libraries expect", () => {
    const specs = {
      learning_rate: { log: [0.01, 0.1] },
      subsample: { uniform: [0, 1] },
      num_leaves: { int: [2, 4] },
    };
    const points = draw(100, specs).map((text) => {
      const [, rate, part, leaves] = /^\{"learning_rate":(.*),"subsample":(.*),"num_leaves":(.*)\}$/.exec(
        text,
      )!;
      assert.ok(Number(rate) >= 0.01 && Number(rate) <= 0.1 && /[.e]/.test(part!));
      return { rate: Number(rate), leaves };
    });
    assert.deepEqual(new Set(points.map(({ leaves }) => leaves)), new Set(["2", "3", "4"]));
    const below = points.filter(({ rate }) => rate < Math.sqrt(0.001)).length;
    assert.ok(below > 30 && below < 70, `${below} of 100 draws below the geometric middle`);
  });

  it("of draws depend on the seed and on the place of their candidate alone", () => {
    const specs = { alpha: { log: [1, 100] } };
    assert.deepEqual(draw(3, specs, 42, 1), draw(5, specs, 42, 1).slice(0, 3));
    assert.notDeepEqual(draw(3, specs, 42, 1), draw(3, specs, 42, 2));
    assert.notDeepEqual(draw(3, specs, 42, 1), draw(3, specs, 43, 1));
    const published = ['{"alpha":97.88}', '{"alpha":1.01}'];
    assert.deepEqual(draw(2, specs), published, "the draws of published configs stay");
  });
});
