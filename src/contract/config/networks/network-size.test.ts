import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../errors/errors.ts";
import { type DlSettings, parseDlSettings } from "../dl-settings.ts";
import { checkNetworkSize, type NETWORKS } from "./networks.ts";

type Section = Readonly<Record<string, unknown>>;

const settingsOf = (prediction: Section): DlSettings =>
  parseDlSettings(JSON.stringify({ "NN params": { "Dot prediction": prediction } })).settings;

function messageOf(body: () => unknown): string {
  try {
    body();
  } catch (error) {
    assert.ok(error instanceof MucastError && error.code === "invalid_request");
    return error.message;
  }
  return assert.fail("nothing was thrown");
}

const mlp = (hidden_dims: readonly number[], lookback = 1000) =>
  settingsOf({
    "current option": "mlp",
    data_processing: { lookback, batch_size: 1 },
    models_params: { mlp: { hidden_dims } },
  });

test("refuses a network that is too large, with its size, the limit and the settings to lower", () => {
  const message = messageOf(() => checkNetworkSize(mlp([4096, 16]), 13));
  assert.equal(
    message,
    "config.NN params.Dot prediction.models_params.mlp: makes a network of 53,317,665 parameters with 13 features; " +
      "at most 50,000,000 are accepted: lower hidden_dims [4096,16] or lookback 1000",
  );
});

test("accepts a size equal to the limit", () => {
  // 1,000,000 x features + 2,001.
  checkNetworkSize(mlp([1000]), 49);
  assert.match(
    messageOf(() => checkNetworkSize(mlp([1000]), 50)),
    /50,002,001 parameters with 50 features/,
  );
});

test("names the widths of every architecture", () => {
  const wide = {
    lstm: [{ hidden_dims: [4096, 4096] }, /hidden_dims \[4096,4096\]$/],
    portfolio_lstm: [{ hidden_dims: [4096, 4096] }, /hidden_dims \[4096,4096\]$/],
    cnn: [{ filters: [4096, 4096], kernel_size: 5 }, /filters \[4096,4096\] or kernel_size 5$/],
    transformer: [{ d_model: 4096 }, /d_model 4096, dim_feedforward 16384 or num_layers 2$/],
    mlp: [{ hidden_dims: [4096, 4096, 4096, 4096] }, /hidden_dims \[4096,4096,4096,4096\] or lookback \d+$/],
    portfolio_transformer: [{ d_model: 4096 }, /d_model 4096, dim_feedforward 16384 or num_layers 2$/],
  } as const satisfies Record<keyof typeof NETWORKS, readonly [entry: Section, words: RegExp]>;
  for (const [architecture, [entry, words]] of Object.entries(wide)) {
    const prediction = { "current option": architecture, models_params: { [architecture]: entry } };
    assert.match(
      messageOf(() => settingsOf(prediction)),
      words,
    );
  }
});

test("refuses a network that is too large even with a single feature before any blob is read", () => {
  const prediction = {
    "current option": "lstm",
    models_params: { lstm: { hidden_dims: [4096] } },
  };
  assert.match(
    messageOf(() => settingsOf(prediction)),
    /makes a network of 67,162,113 parameters with 1 feature; at most/,
  );
});

test("refuses a batch with too many values, and names what makes it large", () => {
  const settings = settingsOf({
    "current option": "lstm",
    data_processing: { lookback: 1000, batch_size: 4096 },
  });
  checkNetworkSize(settings, 65);
  assert.equal(
    messageOf(() => checkNetworkSize(settings, 66)),
    "config.NN params.Dot prediction.data_processing.batch_size: makes batches of 270,336,000 numbers " +
      "(4,096 windows x lookback 1000 x 66 features); at most 268,435,456 are accepted: lower batch_size or lookback",
  );
});

test("processes a batch of a joint network in pieces of at least a date with all its tickers", () => {
  const settings = settingsOf({
    "current option": "portfolio_lstm",
    data_processing: { lookback: 1000, batch_size: 64 },
  });
  checkNetworkSize(settings, 131, 500);
  assert.match(
    messageOf(() => checkNetworkSize(settings, 132, 500)),
    /\(2,048 windows x lookback 1000 x 132 features\)/,
  );
  assert.match(
    messageOf(() => checkNetworkSize(settings, 90, 3_000)),
    /\(3,000 windows x lookback 1000 x 90 features\)/,
  );
  assert.match(
    messageOf(() => checkNetworkSize({ ...settings, joint: false }, 4_200)),
    /\(64 windows/,
  );
});

test("one error reports both limits", () => {
  const settings = settingsOf({
    "current option": "mlp",
    data_processing: { lookback: 1000, batch_size: 65536 },
  });
  assert.match(
    messageOf(() => checkNetworkSize(settings, 400)),
    /models_params\.mlp: .*; config.*batch_size: /,
  );
});
