import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { type OutputBlob, outputBlobSchema } from "../../contract/output/output-blob.ts";
import { outputDocument } from "../../outputs/outputs.testing.ts";
import { evaluateForecasts, type ScoreSettings } from "./evaluate-forecasts.ts";
import { jobDocument } from "./job-document.ts";
import { foldedRows } from "./modelled-ticker.testing.ts";
import type { ModelledTicker } from "./modelled-ticker.ts";
import { orderedPieces } from "./ordered-json.ts";
import { NO_ENGINE, provenance } from "./provenance.ts";
import { recordedMl } from "./recorded-settings.ts";

function evaluateMl(fitted: readonly ModelledTicker[], settings: ScoreSettings, asOf: number) {
  return evaluateForecasts(fitted, "out_of_fold", settings, asOf);
}

const SHA = "0".repeat(64);
/** The output of a job; without tickers, only the parts that do not depend on them. */
function outputOf(config: string, fitted: readonly ModelledTicker[] = [], asOf = 100) {
  const { settings } = parseMlSettings(config);
  const blob = (name: string) => ({ name, sha256: SHA });
  const parts = {
    id: "1",
    createdAt: new Date(0),
    window: { start: 0, end: 100, cut: 100 },
    asOf,
    operation: "run_ml_job" as const,
    fits: { tickers: fitted, failures: [] },
    evaluation: evaluateMl(fitted, settings, asOf),
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: recordedMl(settings),
    warnings: [],
    machine: null,
    provenance: provenance({
      operation: "run_ml_job",
      digests: { feature: blob("f.json"), dataExtractor: blob("p.json") },
      config,
      engine: { ...NO_ENGINE, versions: { python: "3.12.0" } },
      seed: null,
      device: "cpu",
    }),
  };
  return outputBlobSchema.parse(JSON.parse([...orderedPieces(jobDocument(parts))].join("")));
}

test("records the model with every default filled in and old names resolved", () => {
  const { model_params: _, ...rest } = outputOf('{"ML params": {"model": "RF", "test_size": 7}}').model;
  assert.deepEqual(rest, {
    model: "random_forest",
    library: "sklearn",
    class: "RandomForestRegressor",
    cv_test_size: 7,
    n_splits: 15,
    scaler: "none",
    shrinkage: "none",
    intervals: null,
  });
});

/** Two folds of two rows over fit rows labelled 0 ... 5, one score row; out of fold it misses by -1, 2, -3, 4. */
const ROWS = {
  ticker: "AAA",
  days: Int32Array.of(1, 2, 3, 4, 5, 6),
  labels: Float64Array.of(0, 1, 2, 3, 4, 5),
  labelDays: Int32Array.of(2, 3, 4, 5, 6, 7),
  folds: [
    { trainStart: 0, trainEnd: 2, testStart: 2, testEnd: 4 },
    { trainStart: 0, trainEnd: 4, testStart: 4, testEnd: 6 },
  ],
  outOfFold: Float64Array.of(2 + 1, 3 - 2, 4 + 3, 5 - 4),
};
const FITTED: ModelledTicker = {
  ...foldedRows(ROWS),
  ticker: "AAA",
  dates: { ticker: "AAA", days: Int32Array.of(1, 2, 3, 4, 5, 6, 7), lastPriceDay: 7, lastFeatureDay: 7 },
  score: {
    days: Int32Array.of(7),
    labels: Float64Array.of(Number.NaN),
    labelDays: Int32Array.of(8),
    predicted: Float64Array.of(10),
    volatility: Float64Array.of(1),
    spans: [],
  },
  models: [{ block: 0, from: 0, to: 1, fitRows: 6, labelMean: 2.5, isStandIn: false }],
  rows: {
    fitRows: 6,
    features: 2,
    spans: Int32Array.of(0, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0),
    latestSpan: 1,
    warmUp: { rows: 0, feature: undefined },
  },
  importances: [
    { feature: "10", importance: -0.75 },
    { feature: "f", importance: 0.5 },
  ],
  warnings: [],
  listed: [],
};

const LEVELS = { outOfFold: 0.0004, score: -0.0003 };

/** Eight tickers that start from these levels, with 80 out-of-fold dates and 40 score dates. @param skill slope of labels on forecasts. */
function levelled(skill: number): ModelledTicker[] {
  const random = seededRandom(5);
  return Array.from({ length: 8 }, (_, t) => {
    const days = (from: number, count: number) => Int32Array.from({ length: count }, (_day, i) => from + i);
    const predicted = (level: number, count: number) =>
      Float64Array.from({ length: count }, () => level + 0.001 * random.normal());
    const labels = (forecasts: Float64Array, level: number) =>
      forecasts.map((p) => level + skill * (p - level) + 0.002 * random.normal());
    const [outOfFold, score] = [predicted(LEVELS.outOfFold, 80), predicted(LEVELS.score, 40)];
    return {
      ...FITTED,
      ticker: `T${t}`,
      dates: { ticker: `T${t}`, days: days(160, 40), lastPriceDay: 199, lastFeatureDay: 199 },
      ...foldedRows({
        ticker: `T${t}`,
        days: days(0, 140),
        labels: Float64Array.of(...new Float64Array(60), ...labels(outOfFold, LEVELS.outOfFold)),
        labelDays: days(1, 140),
        folds: [{ trainStart: 0, trainEnd: 60, testStart: 60, testEnd: 140 }],
        outOfFold,
        spans: [{ from: 60, level: LEVELS.outOfFold }],
      }),
      score: {
        days: days(160, 40),
        labels: labels(score, LEVELS.score).fill(Number.NaN, 39),
        labelDays: days(161, 40),
        predicted: score,
        volatility: new Float64Array(40).fill(1),
        spans: [{ from: 160, level: LEVELS.score }],
      },
      models: [{ block: 0, from: 0, to: 40, fitRows: 140, labelMean: 0, isStandIn: false }],
    };
  });
}

const levelledOutput = (shrinkage: ShrinkageChoice, skill: number) =>
  outputOf(`{"ML params": {"model": "ridge", "shrinkage": "${shrinkage}"}}`, levelled(skill), 199);

test("pooled shrinkage multiplies what forecasts are above their level, and can be undone", () => {
  const [raw, output] = [levelledOutput("none", 0.5), levelledOutput("pooled", 0.5)];
  const { applied, levels, by_date } = output.metrics.shrinkage!;
  const s = by_date!.s;
  assert.ok(s > 0.2 && s < 0.8);
  assert.deepEqual(levels, {
    held_out: [{ start: "1970-03-02", level: LEVELS.outOfFold }],
    score: [{ start: "1970-06-10", level: LEVELS.score }],
  });
  for (const row of outputDocument("output", "", output).rows) {
    const { predicted } = raw.forecasts[row.ticker]!;
    assert.equal(applied![row.ticker], s);
    for (const [i, p] of predicted.entries()) {
      assert.equal(row.predicted[i], LEVELS.score + s * (p - LEVELS.score));
      assert.ok(Math.abs(row.ranked![i]! - p) <= 1e-12 * Math.abs(p));
    }
  }
  const orders = ({ metrics: { score, out_of_fold } }: OutputBlob) => [score, out_of_fold!];
  assert.deepEqual(
    orders(output).map(({ cross_section }) => cross_section),
    orders(raw).map(({ cross_section }) => cross_section),
  );
  assert.equal(output.mu_model, undefined);
});

test("if returns go against the forecasts, they are those of their level, and the model's own are kept beside", () => {
  const [raw, output] = [levelledOutput("none", -0.5), levelledOutput("pooled", -0.5)];
  assert.ok(Object.values(output.mu).every((mu) => mu === LEVELS.score));
  assert.deepEqual(output.mu_model, raw.mu);
  for (const [ticker, { model }] of Object.entries(output.forecasts)) {
    assert.deepEqual(model, raw.forecasts[ticker]!.predicted);
  }
  assert.deepEqual(output.metrics.score.cross_section, raw.metrics.score.cross_section);
  assert.deepEqual(output.verdict!.judged[0]!.order, raw.verdict!.judged[0]!.order);
  const { warnings } = evaluateMl(levelled(-0.5), { shrinkage: "pooled" }, 199);
  const negative = warnings.filter(({ code }) => code === "negative_slope");
  assert.equal(negative.length, 1);
  assert.match(negative[0]!.message, /^The slope of returns on held-out forecasts is -0\.\d\d with/);
});
