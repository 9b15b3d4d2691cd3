/**
 * run_ml_job gives the numbers of a plain Python loop over tickers and folds that shares no code with it: all models, on blobs with every
 * fault at once and, in the release tier, on clean blobs, with and without Learning_end.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MODELS as REGRESSORS } from "../../../src/contract/model-params/models.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyMarket } from "../markets/dirty-market.ts";
import { cleanMarket } from "../markets/market.ts";
import { assertSameAsTwin, keyOrder, plainResults, type TwinResult } from "../twins/plain-twin.ts";

/** Largest difference between two forecasts, log-return. Each test prints the measured one. */
const TOLERANCE = 1e-9;

/** The rest of each model's `ML params`, as JSON text. */
const MODELS: readonly (readonly [name: string, params: string])[] = [
  [
    "random_forest",
    '"model_params": {"n_estimators": 6, "max_depth": 5, "max_features": 1, "min_samples_leaf": 3}, "n_splits": 4, "shrinkage": "own", "intervals": {}',
  ],
  [
    "xgboost",
    '"model_params": {"n_estimators": 6, "max_depth": 3, "subsample": 0.8, "colsample_bytree": 0.7}, "n_splits": 4, "intervals": {"alpha": 0.05}, "delay": 1',
  ],
  [
    "lightgbm",
    '"model_params": {"n_estimators": 6, "num_leaves": 7, "min_child_samples": 5, "colsample_bytree": 0.7}, "n_splits": 4, "intervals": {"bound": "lower"}',
  ],
  [
    "catboost",
    '"model_params": {"iterations": 6, "depth": 3}, "n_splits": 4, "intervals": {"bound": "upper", "alpha": 0.2}',
  ],
  ["linear", '"n_splits": 4, "intervals": {"alpha": 0.05, "bound": "lower"}'],
  [
    "ridge",
    '"model_params": {"alpha": 0.5}, "scaler": "standard", "n_splits": 4, "shrinkage": "own", "intervals": {"alpha": 0.25, "method": "split"}',
  ],
  [
    "lasso",
    '"model_params": {"alpha": 0.0002}, "scaler": "maxabs", "cv_test_size": 7, "n_splits": 12, "intervals": {}, "delay": 2',
  ],
  [
    "elastic_net",
    '"model_params": {"alpha": 0.5, "l1_ratio": 0.5}, "scaler": "minmax", "n_splits": 4, "intervals": {"enabled": false}',
  ],
  [
    "quantile",
    '"model_params": {"quantile": 0.4, "alpha": 0}, "scaler": "robust", "n_splits": 2, "intervals": {}, "delay": 5',
  ],
];

const MARKETS = (
  [
    ["blobs with every fault and Learning_end", dirtyMarket({ learningEnd: true })],
    ["clean blobs", cleanMarket()],
    ["clean blobs with Learning_end", cleanMarket("2021-10-29")],
    ["blobs with every fault", dirtyMarket({ learningEnd: false })],
  ] as const
).slice(0, WHOLE_MATRIX ? 4 : 1);

/** The fit rows do not depend on the model, so slow models see two markets instead of four. */
const SLOW_TO_FIT = new Set(["random_forest", "xgboost", "lightgbm", "catboost", "quantile"]);
const MARKETS_OF_SLOW = 2;

/** Models of a market, with their positions in MODELS. */
const modelsOn = (market: number) =>
  [...MODELS.entries()].filter(([, [name]]) => market < MARKETS_OF_SLOW || !SLOW_TO_FIT.has(name));

const CONFIGS = MODELS.map(([name, params]) => `{"ML params": {"model": "${name}", ${params}}}`);

const pairs: BlobPair[] = [];
let twins: TwinResult[][];

before(async () => {
  for (const [, market] of MARKETS) pairs.push(await writeMarket(market));
  twins = await plainResults(
    pairs.map((blobs, i) => ({ blobs, configs: modelsOn(i).map(([m]) => CONFIGS[m]!) })),
  );
});
after(removeFolders);

test("compares every model", () => {
  const compared = MODELS.map(([name]) => name).sort();
  assert.deepEqual(compared, REGRESSORS.map(({ name }) => name).sort());
});

describe("the numbers of a plain loop", { concurrency: 2 }, () => {
  for (const [i, [market]] of MARKETS.entries()) {
    for (const [place, [m, [model]]] of modelsOn(i).entries()) {
      test(`${model} on ${market}`, async (t) => {
        const { output, text } = await runJob(pairs[i]!, CONFIGS[m]!);
        const twin = twins[i]![place]!;
        t.diagnostic(`largest difference ${assertSameAsTwin(output, twin, TOLERANCE)}`);
        assertValid("output-blob", output);
        const ascending = Object.keys(twin.forecasts).sort(byCodePoint);
        assert.deepEqual(keyOrder(text, "forecasts"), ascending);
        assert.deepEqual(
          keyOrder(text, "mu"),
          ascending.filter((ticker) => ticker in twin.mu),
        );
      });
    }
  }
});

/** UTF-8 keeps the order of code points. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
