/**
 * `fit`, `target` and `cross_section` match the numbers of a plain script written from docs/semantics.md: two regressors on dirty blobs
 * and, in the release tier, every regressor, on clean and dirty blobs.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MODELS as REGRESSORS } from "../../../src/contract/model-params/models.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyPanelMarket, panelMarket } from "../markets/panel-market.ts";
import { askTwin, assertSameForecasts } from "../twins/plain-twin.ts";
import { FORESTS, QUICK_MODELS } from "./quick-models.ts";

/** Largest difference between two forecasts of a linear model, log-return; others agree to the bit. */
const LINEAR_TOLERANCE = 1e-9;

interface PanelTwin {
  readonly failures: readonly string[];
  readonly thin: readonly number[];
  readonly pooled: Pick<NonNullable<OutputBlob["pooled"]>, "fit_rows" | "features" | "fold_rows"> | null;
  readonly tickers: Readonly<
    Record<
      string,
      {
        readonly folds: readonly number[];
        readonly out_of_fold: readonly (readonly [string, number])[];
        readonly score: readonly (readonly [string, number])[];
      }
    >
  >;
}

const ALL = { fit: "pooled", target: "relative", cross_section: true };

/** With each of the settings alone and in pairs. */
const WITH_EACH = WHOLE_MATRIX ? ["lightgbm", "ridge"] : ["ridge"];

/** With all three settings. */
const WITH_ALL = WHOLE_MATRIX ? QUICK_MODELS.map(([model]) => model) : ["catboost", "ridge"];

const CASES = [
  ...QUICK_MODELS.filter(([model]) => WITH_ALL.includes(model)).map(([model, params]) => ({
    model,
    ...params,
    ...ALL,
  })),
  ...QUICK_MODELS.filter(([model]) => WITH_EACH.includes(model)).flatMap(([model, params]) =>
    [
      { fit: "pooled" },
      { target: "relative" },
      { cross_section: true },
      { fit: "pooled", target: "relative" },
      { fit: "pooled", cross_section: true },
      { target: "relative", cross_section: true },
      { delay: 1, ...ALL },
      { delay: 4, fit: "pooled" },
      { delay: 2, target: "relative" },
    ].map((settings) => ({ model, ...params, ...settings })),
  ),
];

const CONFIGS = CASES.map((params) =>
  JSON.stringify({ "ML params": { ...params, cv_test_size: 10, n_splits: 3 } }),
);

const DIRTY = ["dirty blobs", dirtyPanelMarket()] as const;
const MARKETS = WHOLE_MATRIX ? [["clean blobs", panelMarket()] as const, DIRTY] : [DIRTY];

const pairs: BlobPair[] = [];
let twins: PanelTwin[][];

before(async () => {
  for (const [, market] of MARKETS) pairs.push(await writeMarket(market));
  const request = pairs.map(({ features, prices }) => ({ features, prices, configs: CONFIGS }));
  twins = await askTwin<PanelTwin[][]>("plain_pooled_job.py", findEnvironment().python, request);
});
after(removeFolders);

test("compares every model with all settings", () => {
  assert.deepEqual(QUICK_MODELS.map(([name]) => name).sort(), REGRESSORS.map(({ name }) => name).sort());
});

describe("the numbers of a plain script", { concurrency: 2 }, () => {
  for (const [i, [market]] of MARKETS.entries()) {
    for (const [c, { model, ...params }] of CASES.entries()) {
      const { model_params: _, scaler: __, ...settings } = params as Record<string, unknown>;
      test(`${model} ${Object.values(settings).join(" ")} on ${market}`, async () => {
        const { output } = await runJob(pairs[i]!, CONFIGS[c]!);
        assertValid("output-blob", output);
        assertSamePanel(output, twins[i]![c]!, FORESTS.has(model) ? 0 : LINEAR_TOLERANCE);
      });
    }
  }
});

function assertSamePanel(output: OutputBlob, twin: PanelTwin, tolerance: number): void {
  assert.deepEqual(
    output.failures.map(({ ticker }) => ticker),
    twin.failures,
  );
  const thin = output.warnings.filter(({ code }) => code === "thin_dates").map(({ count }) => count);
  assert.deepEqual(thin, twin.thin);
  const { pooled = null } = output;
  assert.deepEqual(
    pooled && { fit_rows: pooled.fit_rows, features: pooled.features, fold_rows: pooled.fold_rows },
    twin.pooled,
  );
  assert.deepEqual(Object.keys(output.forecasts).sort(), Object.keys(twin.tickers).sort());
  for (const [ticker, { folds, out_of_fold, score }] of Object.entries(twin.tickers)) {
    const tested = output.cross_validation![ticker]!;
    assert.deepEqual(
      tested.folds.map(({ train_rows }) => train_rows),
      folds,
      ticker,
    );
    assertSameForecasts(tested, out_of_fold, tolerance, `${ticker} out of fold`);
    assertSameForecasts(output.forecasts[ticker]!, score, tolerance, ticker);
  }
}
