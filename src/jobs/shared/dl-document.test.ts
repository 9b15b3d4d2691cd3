import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import type { TrainingRecord } from "../dl/train-networks.ts";
import { evaluateForecasts, type ScoreSettings } from "./evaluate-forecasts.ts";
import { jobDocument, plain } from "./job-document.ts";
import { judgedBy, type ModelledTicker } from "./modelled-ticker.ts";
import { orderedPieces } from "./ordered-json.ts";
import { NO_ENGINE, provenance } from "./provenance.ts";
import { recordedDl } from "./recorded-settings.ts";

function evaluateDl(trained: readonly ModelledTicker[], settings: ScoreSettings, asOf: number) {
  const rows = settings.intervals === undefined ? "validation" : "calibration";
  return evaluateForecasts(trained, rows, settings, asOf);
}

const SHA = "0".repeat(64);

function outputOf(
  prediction: object | string,
  trained: readonly ModelledTicker[] = [],
  training: ReadonlyMap<string, TrainingRecord> = new Map(),
) {
  const own = typeof prediction === "string" ? prediction : JSON.stringify(prediction);
  const config = `{"NN params":{"Dot prediction":${own}}}`;
  const { settings, warnings } = parseDlSettings(config);
  const blob = (name: string) => ({ name, sha256: SHA });
  const document = jobDocument({
    operation: "run_dl_job",
    id: "1",
    createdAt: new Date(0),
    window: { start: 0, end: 100, cut: 100 },
    asOf: 100,
    fits: { tickers: trained, failures: [], training: plain(training) },
    evaluation: evaluateDl(trained, settings, 100),
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: recordedDl(settings),
    warnings,
    machine: null,
    provenance: provenance({
      operation: "run_dl_job",
      digests: { feature: blob("f.json"), dataExtractor: blob("p.json") },
      config,
      engine: { ...NO_ENGINE, versions: { python: "3.12.0" } },
      seed: settings.seed,
      device: "cuda:1",
    }),
  });
  return outputBlobSchema.parse(JSON.parse([...orderedPieces(document)].join("")));
}

function rows(days: number[], realised: number[], predicted: number[], trainingMean = 0.1) {
  return {
    ticker: "10",
    days: Int32Array.from(days),
    labelDays: Int32Array.from(days, (day) => day + 1),
    realised: Float64Array.from(realised),
    predicted: Float64Array.from(predicted),
    trainingMean: new Float64Array(days.length).fill(trainingMean),
    spans: [],
  };
}

/** Four score rows, the last without a label; two residuals, both 0.1 above the forecast. */
const TICKER: ModelledTicker = {
  ticker: "10",
  dates: { ticker: "10", days: Int32Array.of(97, 98, 99, 100), lastPriceDay: 100, lastFeatureDay: 100 },
  fitLabels: Float64Array.of(0.2, 0.4),
  models: [{ block: 0, from: 0, to: 4, fitRows: 2, labelMean: (0.2 + 0.4) / 2, isStandIn: false }],
  ...judgedBy(rows([80, 81, 82], [0.3, -0.1, 0.2], [0.2, -0.2, 0]), rows([90, 91], [0.1, 0.2], [0, 0.1])),
  unit: 0.1,
  score: {
    days: Int32Array.of(97, 98, 99, 100),
    labels: Float64Array.of(0.5, 0.4, 0.2, Number.NaN),
    labelDays: Int32Array.of(98, 99, 100, 101),
    volatility: new Float64Array(4),
    predicted: Float64Array.of(0.45, 0.1, 0.2, 0.3),
    spans: [],
  },
  rows: {
    fitRows: 2,
    features: 3,
    spans: Int32Array.of(0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    latestSpan: 1,
    warmUp: { rows: 0, feature: undefined },
  },
  splits: {
    train: { start: "1970-01-02", end: "1970-02-20" },
    validate: { start: "1970-02-21", end: "1970-04-07" },
    calibrate: null,
  },
  warnings: [],
  listed: [],
};

test("the model is recorded in the sections of the request, with every default filled in", () => {
  const { model } = outputOf({ "current option": "transformer", training_params: { loss_type: "MSE" } });
  assert.deepEqual(model, {
    model: "transformer",
    status: true,
    global_settings: { device: "auto", seed: 42 },
    data_processing: { scaler: "robust", lookback: 10, batch_size: 64 },
    training_params: {
      epochs: 20,
      learning_rate: 0.001,
      patience: 5,
      optimizer: "adam",
      weight_decay: 0,
      grad_clip: 1,
      loss_type: "mse",
      ensemble: 1,
    },
    model_params: { d_model: 64, nhead: 4, num_layers: 2, dim_feedforward: 256, dropout: 0.1 },
    intervals: null,
    shrinkage: "none",
  });
});

test("forecasts are listed with their training, and no table is out of fold", () => {
  const epochs = [{ train_loss: 1, validation_loss: 0.5 }];
  const record = { epochs, best_epoch: 1, zero_validation_loss: 0.75, parameters: 7 };
  const prediction = { "current option": "mlp", intervals: { alpha: 0.4 } };
  const output = outputOf(prediction, [TICKER], new Map([["10", record]]));
  assert.deepEqual(output.mu, { "10": 0.3 });
  assert.deepEqual(output.training, { "10": record });
  assert.deepEqual([output.mu_dates, output.window.median_spacing_days], [{ "10": "1970-04-11" }, 1]);
  const { splits } = TICKER;
  const fits = output.fits!;
  assert.ok(Math.abs(fits["10"]!.label_deviation! - 0.1) < 1e-15);
  assert.deepEqual(fits, {
    "10": {
      fit_rows: 2,
      features: 3,
      label_mean: (0.2 + 0.4) / 2,
      label_deviation: fits["10"]!.label_deviation!,
      splits,
    },
  });
  assert.deepEqual(output.forecasts["10"]!.realised, [0.5, 0.4, 0.2, null]);
  assert.deepEqual([output.cross_validation, output.metrics.out_of_fold], [undefined, undefined]);
  assert.equal(output.metrics.baselines.mean.out_of_fold, undefined);
  assert.equal(output.metrics.score.pooled.n, 3);
  // The mean forecast is the mean of all fit labels, 0.3.
  assert.ok(Math.abs(output.metrics.baselines.mean.score.pooled.mae! - 0.4 / 3) < 1e-12);
  assert.deepEqual([output.provenance.device, output.provenance.seed], ["cuda:1", 42]);
});

test("no warning carries the signature of a URL into the output", () => {
  const loss_type = "https://a.example/b?sv=1&sig=SECRET";
  const { warnings } = outputOf({ "current option": "mlp", training_params: { loss_type } });
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ["unknown_loss_type"],
  );
  assert.doesNotMatch(JSON.stringify(warnings), /SECRET/);
});

test("provenance keeps no config with the signature of a URL, however it is spelt", () => {
  const url = (name: string) => `https://store/c/d?${name}=hunter2`;
  const text = (loss_type: string) =>
    JSON.stringify({ "current option": "mlp", training_params: { loss_type } });
  assert.equal(outputOf(JSON.parse(text("mae"))).provenance.config, `{"Dot prediction":${text("mae")}}`);
  for (const spelt of [text(url("sig")), text(url("SIG")), text(url("sig")).replace("sig", "\\u0073ig")]) {
    const output = outputOf(spelt);
    assert.equal(output.provenance.config, null, spelt);
    assert.doesNotMatch(JSON.stringify(output), /hunter2/);
  }
});
