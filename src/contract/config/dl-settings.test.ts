import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "./dl-settings.ts";
import { LOSS_TYPES } from "./networks.ts";

type Section = Readonly<Record<string, unknown>>;

const configOf = (prediction: Section) => JSON.stringify({ "NN params": { "Dot prediction": prediction } });
const parse = (prediction: Section) => parseDlSettings(configOf(prediction));

test("fills in every default", () => {
  const { settings, warnings } = parse({ "current option": "mlp" });
  assert.deepEqual(warnings, []);
  const training = { epochs: 20, batch_size: 64, learning_rate: 0.001, patience: 5, optimizer: "adam" };
  assert.deepEqual(settings, {
    status: true,
    network: { architecture: "mlp", hidden_dims: [128, 64], dropout: 0.2 },
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

test("replaces any loss but a known one in its exact spelling by mse, with a warning", () => {
  for (const loss of LOSS_TYPES) {
    const { settings, warnings } = parse({ "current option": "cnn", training_params: { loss_type: loss } });
    assert.deepEqual([settings.training.loss, warnings], [loss, []]);
  }
  for (const loss_type of ["MSE", " r2", "toString", null, 0, ["mse"], { name: "hinge" }]) {
    const { settings, warnings } = parse({ "current option": "cnn", training_params: { loss_type } });
    const message =
      `config.NN params.Dot prediction.training_params.loss_type: ${JSON.stringify(loss_type)} is not known, ` +
      "so mse is used; known: mse, mae, huber, directional, r2, mahalanobis";
    assert.deepEqual([settings.training.loss, warnings], ["mse", [{ code: "unknown_loss_type", message }]]);
  }
});
