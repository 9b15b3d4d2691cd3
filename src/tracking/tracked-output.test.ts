import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { readOutput } from "../client/read-output.ts";
import { dlText, mlText, outputDocument } from "../outputs/outputs.testing.ts";
import { readTrackedOutput, runMetrics, runTags } from "./tracked-output.ts";

const ml = JSON.parse(mlText({ tickers: ["A", "B", "C"] }));
const opened = (output: unknown) => outputDocument("o", "0".repeat(64), readOutput(output));
async function paramsOf(output: unknown) {
  const { params } = await readTrackedOutput("o", Readable.from([Buffer.from(JSON.stringify(output))]));
  return Object.fromEntries(params.map(({ key, value }) => [key, value]));
}
const metricsOf = (output: unknown) =>
  Object.fromEntries(runMetrics(opened(output)).map(({ name, points }) => [name, points]));

test("params are the resolved config with dots, and the window, of a length that MLflow accepts and without signatures", async () => {
  const model = { ...ml.model, text: "x".repeat(7_000), url: "https://h/c/b?sv=1&sig=planted", empty: {} };
  const params = await paramsOf({ ...ml, model });
  assert.equal(params.model, "ridge");
  assert.equal(params["model_params.alpha"], "1");
  assert.equal(params["window.as_of"], ml.window.as_of);
  assert.equal(params.text!.length, 6_000);
  assert.equal(params.url, "https://h/c/b?sv=1&sig=…");
  assert.equal(params.empty, "{}");
  assert.equal((await paramsOf(JSON.parse(dlText())))["model_params.hidden_dims"], "[64,32]");
});

test("metrics are those of the output; an undefined one is absent", () => {
  const metrics = metricsOf(ml);
  assert.deepEqual(metrics["score/rmse"], [{ step: 0, value: ml.metrics.score.pooled.rmse }]);
  assert.equal(metrics["out_of_fold/ic_mean"], undefined, "three tickers have no IC");
  const wide = JSON.parse(mlText({ folds: 3 }));
  const { ic_mean } = wide.metrics.out_of_fold.cross_section;
  assert.deepEqual(metricsOf(wide)["out_of_fold/ic_mean"], [{ step: 0, value: ic_mean }]);
  assert.deepEqual(metrics["zero/score/mae"], [
    { step: 0, value: ml.metrics.baselines.zero.score.pooled.mae },
  ]);
  assert.equal(ml.metrics.baselines.zero.score.pooled.hit_rate, null);
  assert.equal(metrics["zero/score/hit_rate"], undefined);
  assert.deepEqual(metrics.tickers, [{ step: 0, value: 3 }]);
});

test("a fold has the median of its tickers, and a ticker with fewer folds lacks the first", () => {
  const output = structuredClone(ml);
  const tested = output.cross_validation.C;
  const dropped = tested.folds.shift().n;
  for (const list of [tested.dates, tested.predicted, tested.realised]) list.splice(0, dropped);
  const rmse = (ticker: string, fold: number) => ml.cross_validation[ticker].folds[fold].rmse;
  const middle = (values: number[]) => values.toSorted((a, b) => a - b)[1];
  assert.deepEqual(metricsOf(output)["fold/rmse"], [
    { step: 1, value: rmse("A", 0) / 2 + rmse("B", 0) / 2 },
    ...[1, 2].map((k) => ({ step: k + 1, value: middle(["A", "B", "C"].map((ticker) => rmse(ticker, k))) })),
  ]);
});

test("an epoch has the median of the networks that trained in it, members of an ensemble included", () => {
  const output = JSON.parse(dlText({ tickers: ["A", "B"] }, 3));
  const losses = (...values: number[]) => values.map((value) => ({ train_loss: value, validation_loss: 1 }));
  const [a, b] = [output.training.A, output.training.B];
  a.epochs = losses(1, 2, 9);
  b.epochs = losses(3);
  b.members = [{ member: 1, epochs: losses(8, 4), best_epoch: 1, zero_validation_loss: 1 }];
  const metrics = metricsOf(output);
  const at = (...values: number[]) => values.map((value, k) => ({ step: k + 1, value }));
  assert.deepEqual(metrics["epoch/train_loss"], at(3, 3, 9));
  assert.deepEqual(metrics["epoch/networks"], at(3, 2, 1));
});

test("a block of refits has its figures", () => {
  const block = { start: "2016-01-01", end: "2016-01-14", fit_rows: 9, tickers: 3, stand_ins: 0, n: 4 };
  const figures = { r2_zero: 0.5, hit_rate: null, dates: 0, ic_mean: null, rank_ic_mean: null };
  const refits = {
    blocks: [
      { ...block, ...figures },
      { ...block, ...figures, r2_zero: -1 },
    ],
    by_ticker: {},
  };
  const metrics = metricsOf({ ...ml, refits });
  assert.deepEqual(metrics["block/r2_zero"], [
    { step: 1, value: 0.5 },
    { step: 2, value: -1 },
  ]);
  assert.equal(metrics["block/hit_rate"], undefined);
});

test("tags name the blobs without their queries, and say how the forecasts were judged", () => {
  const { document } = opened(ml);
  const provenance = {
    ...document.provenance,
    feature_url: "https://h/c/data/feature_engine_1.json?sig=planted",
  };
  const tags = runTags({ ...document, provenance }, "ab");
  const values = Object.fromEntries(tags.map(({ key, value }) => [key, value]));
  assert.equal(values["mucast.output_sha256"], "ab");
  assert.equal(values["mucast.feature_blob"], "feature_engine_1.json");
  assert.equal(values["mucast.feature_sha256"], ml.provenance.feature_sha256);
  assert.equal(values["mucast.model"], "ridge");
  assert.equal(values["mucast.verdict"], ml.verdict.state);
  assert.equal(values["mucast.tags"], undefined);
  const [tagged] = runTags({ ...document, tags: ["b", 'a "1"'] }, "").filter(
    ({ key }) => key === "mucast.tags",
  );
  assert.equal(tagged!.value, '["b","a \\"1\\""]');
  assert.ok(!JSON.stringify(tags).includes("planted"));
});
