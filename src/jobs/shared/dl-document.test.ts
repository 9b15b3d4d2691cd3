import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import type { TrainingRecord } from "../dl/train-networks.ts";
import { evaluateForecasts, type ScoreSettings } from "./evaluate-forecasts.ts";
import { jobDocument, plain } from "./job-document.ts";
import type { ModelledTicker } from "./modelled-ticker.ts";
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
