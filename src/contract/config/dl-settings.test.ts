import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../errors/errors.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { ARCHITECTURES, LOSS_TYPES } from "./networks/networks.ts";

type Section = Readonly<Record<string, unknown>>;

const configOf = (prediction: Section) => JSON.stringify({ "NN params": { "Dot prediction": prediction } });
const parse = (prediction: Section) => parseDlSettings(configOf(prediction));
const network = (prediction: Section) => parse(prediction).settings.network;

const DEFAULT_NETWORKS = {
  lstm: { hidden_dims: [64, 32], dropout: 0.2 },
  portfolio_lstm: { hidden_dims: [64, 32], dropout: 0.2 },
  cnn: { filters: [32, 64], kernel_size: 3, pool_size: 2, dropout: 0.2 },
  transformer: { d_model: 64, nhead: 4, num_layers: 2, dim_feedforward: 256, dropout: 0.1 },
  portfolio_transformer: { d_model: 64, nhead: 4, num_layers: 2, dim_feedforward: 256, dropout: 0.1 },
  mlp: { hidden_dims: [128, 64], dropout: 0.2 },
};

test("fills in every default", () => {
  const { settings, warnings } = parse({ "current option": "mlp" });
  assert.deepEqual(warnings, []);
  const training = { epochs: 20, batch_size: 64, learning_rate: 0.001, patience: 5, optimizer: "adam" };
  assert.deepEqual(settings, {
    status: true,
    network: { architecture: "mlp", ...DEFAULT_NETWORKS.mlp },
    training: { ...training, weight_decay: 0, grad_clip: 1, loss: "r2", monitor: "loss" },
    ...{ ensemble: 1, scaler: "robust", lookback: 10, device: "auto", seed: 42, shrinkage: "none" },
    ...{ delay: 0, target: "return", cross_section: false, calibrates: false, joint: false },
  });
});

test("every field of the config reaches the settings", () => {
  const training = { epochs: 3, learning_rate: 0.5, patience: 2, optimizer: "rmsprop", weight_decay: 0.25 };
  const intervals = { alpha: 0.3, bound: "lower", method: "split" };
  const entry = { hidden_dims: [5], dropout: 0 };
  const { settings } = parse({
    status: false,
    "current option": "portfolio_lstm",
    global_settings: { device: "cuda:3", seed: 7 },
    data_processing: { scaler: "minmax", lookback: 21, batch_size: 16 },
    training_params: { ...training, grad_clip: 0, loss_type: "mahalanobis", ensemble: 50, monitor: "ic" },
    models_params: { portfolio_lstm: entry },
    ...{ intervals, shrinkage: "own", delay: 5, target: "relative", cross_section: true },
    ...{ refit_every: 63, window: 750 },
  });
  assert.deepEqual(settings, {
    status: false,
    network: { architecture: "portfolio_lstm", ...entry },
    training: { ...training, batch_size: 16, grad_clip: 0, loss: "mahalanobis", monitor: "ic" },
    ...{ ensemble: 50, scaler: "minmax", lookback: 21, device: "cuda:3", seed: 7, intervals },
    ...{ shrinkage: "own", delay: 5, target: "relative", cross_section: true, refit_every: 63, window: 750 },
    ...{ calibrates: true, joint: true },
  });
});

for (const architecture of ARCHITECTURES) {
  test(`${architecture} has its defaults, with and without an entry, and its name decides that it is joint`, () => {
    const wanted = { architecture, ...DEFAULT_NETWORKS[architecture] };
    assert.deepEqual(network({ "current option": architecture }), wanted);
    const { settings } = parse({ "current option": architecture, models_params: { [architecture]: {} } });
    assert.deepEqual(settings.network, wanted);
    assert.equal(settings.joint, architecture.startsWith("portfolio_"));
  });
}

test("intervals are on if they are given, unless they are switched off", () => {
  const intervals = (given: Section) =>
    parse({ "current option": "cnn", intervals: given }).settings.intervals;
  assert.deepEqual(intervals({}), { alpha: 0.1, bound: "both", method: "adaptive" });
  assert.equal(intervals({ enabled: false, alpha: 0.2 }), undefined);
});

test("keeps seeds up to 2^53 - 1 exactly, and refuses larger ones", () => {
  const config = configOf({ "current option": "lstm", global_settings: { seed: "?" } });
  const seeded = (seed: string) => parseDlSettings(config.replace('"?"', seed));
  assert.equal(seeded("9007199254740991").settings.seed, 9007199254740991);
  for (const seed of ["9007199254740992", "-1", "1.5"]) assert.throws(() => seeded(seed), MucastError);
});

test("replaces any loss but a known one in its exact spelling by mse, with a warning in one printable line", () => {
  for (const loss of LOSS_TYPES) {
    const { settings, warnings } = parse({ "current option": "cnn", training_params: { loss_type: loss } });
    assert.deepEqual([settings.training.loss, warnings], [loss, []]);
  }
  const anyLoss = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("MSE", "R2", " r2", "toString", null, true, 0, {}, [], ["mse"], "\u001b[2J\u202e\n"),
  );
  fc.assert(
    fc.property(anyLoss, (loss_type) => {
      fc.pre(!LOSS_TYPES.some((known) => known === loss_type));
      const { settings, warnings } = parse({ "current option": "cnn", training_params: { loss_type } });
      const [{ code, message } = assert.fail("no warning")] = warnings;
      assert.deepEqual([settings.training.loss, code, warnings.length], ["mse", "unknown_loss_type", 1]);
      assert.doesNotMatch(message, /\p{C}/u);
      assert.ok(message.length < 300, message);
    }),
  );
  const { warnings } = parse({ "current option": "cnn", training_params: { loss_type: { name: "hinge" } } });
  assert.equal(
    warnings[0]!.message,
    'config.NN params.Dot prediction.training_params.loss_type: {"name":"hinge"} is not known, so mse is used; ' +
      "known: mse, mae, huber, directional, r2, mahalanobis",
  );
});
