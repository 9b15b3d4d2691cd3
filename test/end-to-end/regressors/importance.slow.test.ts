/** `importance` matches the numbers of a plain script, changes nothing else in the output, and does not depend on the workers. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OutputImportance } from "../../../src/contract/output/metrics-schemas.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyPanelMarket, panelMarket } from "../markets/panel-market.ts";
import { askTwin, assertClose } from "../twins/plain-twin.ts";

/** Ranks of equal forecasts decide a RankIC, and the last digits of a linear model differ. */
const TOLERANCE = 1e-9;

const TREES = {
  model: "lightgbm",
  model_params: { n_estimators: 20, num_leaves: 4, min_child_samples: 5, random_state: 1 },
};
const RIDGE = { model: "ridge", model_params: { alpha: 5 }, scaler: "robust" };
const CASES: readonly (readonly [name: string, params: object])[] = [
  ["ridge per ticker", { ...RIDGE, n_splits: 8 }],
  ["pooled ridge", { ...RIDGE, fit: "pooled", n_splits: 8 }],
  [
    "pooled lightgbm with z-scores and relative targets",
    { ...TREES, fit: "pooled", target: "relative", cross_section: true, n_splits: 8 },
  ],
  ["lightgbm per ticker on few dates", { ...TREES, n_splits: 2 }],
  ["pooled lightgbm on few dates", { ...TREES, fit: "pooled", n_splits: 2 }],
];
const textOf = (params: object) => JSON.stringify({ "ML params": { ...params, cv_test_size: 10 } });

/** In the release tier both. */
const MARKETS = (
  [
    ["dirty blobs", dirtyPanelMarket()],
    ["clean blobs", panelMarket()],
  ] as const
).slice(0, WHOLE_MATRIX ? 2 : 1);

const pairs: BlobPair[] = [];
/** The figures of a job, beside the members that every twin of a panel returns. */
type ImportanceTwin = Omit<OutputImportance, "quantile"> & Readonly<Record<"failures" | "tickers", unknown>>;
let twins: ImportanceTwin[][];

before(async () => {
  for (const [, market] of MARKETS) pairs.push(await writeMarket(market));
  const configs = CASES.map(([, params]) => textOf(params));
  const request = pairs.map(({ features, prices }) => ({ features, prices, configs }));
  twins = await askTwin("plain_importance_job.py", findEnvironment().python, request);
});
after(removeFolders);

describe("the numbers of a plain script", { concurrency: 2 }, () => {
  for (const [i, [market]] of MARKETS.entries()) {
    for (const [c, [name, params]] of CASES.entries()) {
      test(`${name} on ${market}`, async () => {
        const { output } = await runJob(pairs[i]!, textOf({ ...params, importance: true }));
        assertValid("output-blob", output);
        const { quantile, ...importance } = output.permutation_importance!;
        const { failures: _, tickers: __, ...twin } = twins[i]![c]!;
        assertClose(importance, twin, TOLERANCE, "importance");
        assert.equal(quantile === null, importance.dates < 30);
      });
    }
  }
});

test("changes nothing else in the output, and its bytes do not depend on the number of workers", async () => {
  for (const [, params] of CASES.slice(0, 2)) {
    const plain = await runJob(pairs[0]!, textOf(params), 1);
    const one = await runJob(pairs[0]!, textOf({ ...params, importance: true }), 1);
    const three = await runJob(pairs[0]!, textOf({ ...params, importance: true }), 3);
    assert.deepEqual(three.output.permutation_importance, one.output.permutation_importance);
    const { permutation_importance: _, ...rest } = one.output;
    assert.deepEqual({ ...rest.forecasts, ...rest.mu }, { ...plain.output.forecasts, ...plain.output.mu });
    assert.deepEqual(rest.cross_validation, plain.output.cross_validation);
    assert.deepEqual(rest.metrics, plain.output.metrics);
    assert.deepEqual(
      { ...rest.model, importance: undefined },
      { ...plain.output.model, importance: undefined },
    );
  }
});
