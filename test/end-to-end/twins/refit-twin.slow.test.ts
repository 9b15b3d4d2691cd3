/**
 * `refit_every` and `window` match the numbers of a plain script written from docs/semantics.md, one model per ticker and one for all:
 * two regressors on dirty blobs and, in the release tier, every regressor, on clean and dirty blobs.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";
import { FORESTS, QUICK_MODELS } from "../regressors/quick-models.ts";
import { askTwin, assertClose, assertSameForecasts } from "./plain-twin.ts";

/** Largest difference between two forecasts of a linear model, log-return; others agree to the bit. */
const LINEAR_TOLERANCE = 1e-9;

interface RefitTwin {
  readonly failures: readonly string[];
  readonly factors: readonly number[];
  /** The number of blocks with the warning. */
  readonly negative_slope: number;
  readonly blocks: readonly { readonly start: string; readonly end: string; readonly fit_rows: number }[];
  readonly tickers: Readonly<
    Record<
      string,
      {
        readonly folds: readonly number[];
        readonly out_of_fold: readonly (readonly [string, number])[];
        readonly score: readonly (readonly [string, number])[];
        readonly lower: readonly (number | null)[];
        readonly upper: readonly (number | null)[];
        readonly label_means: readonly (number | null)[];
        readonly joins: string | null;
      }
    >
  >;
}

const RELATIVE = { fit: "pooled", target: "relative", cross_section: true };

/** With each setting besides those that all models have. */
const WITH_EACH = WHOLE_MATRIX ? ["lightgbm", "ridge"] : ["ridge"];

/** In the release tier every regressor. */
const MODELS = QUICK_MODELS.filter(([model]) => WHOLE_MATRIX || ["catboost", "ridge"].includes(model));

/** Settings that others below contain. */
const ONE_AT_A_TIME = [
  { refit_every: 9, window: 45 },
  { fit: "pooled", refit_every: 9, window: 45 },
  { window: 40 },
  { refit_every: 13, target: "relative" },
  { refit_every: 13, target: "relative", cross_section: true, window: 50 },
  { refit_every: 12, fit: "pooled", shrinkage: "pooled", intervals: {} },
];

/** Each model per ticker and pooled, and some with each other setting. */
const CASES = [
  ...MODELS.flatMap(([model, params]) =>
    [{}, RELATIVE].map((setting) => ({ model, ...params, ...setting, refit_every: 17 })),
  ),
  ...QUICK_MODELS.filter(([model]) => WITH_EACH.includes(model)).flatMap(([model, params]) =>
    [
      ...(WHOLE_MATRIX ? ONE_AT_A_TIME : []),
      { fit: "pooled", window: 40 },
      { refit_every: 1000, fit: "pooled" },
      { refit_every: 12, shrinkage: "pooled", intervals: { method: "split", alpha: 0.2 } },
      { ...RELATIVE, refit_every: 5, window: 60, shrinkage: "pooled", intervals: { alpha: 0.2 } },
      { delay: 1, refit_every: 9, window: 45, shrinkage: "pooled", intervals: {} },
      { delay: 5, fit: "pooled", refit_every: 4, window: 45 },
      { delay: 2, ...RELATIVE, refit_every: 12, shrinkage: "pooled", intervals: { alpha: 0.2 } },
      { delay: 3, refit_every: 13, target: "relative", cross_section: true, window: 50 },
    ].map((settings) => ({ model, ...params, ...settings })),
  ),
];

const CONFIGS = CASES.map((params) =>
  JSON.stringify({ "ML params": { ...params, cv_test_size: 10, n_splits: 3 } }),
);

/** The cut of the dirty blobs is a Saturday. After it prices have gaps with and without labels, features are missing, a ticker has ended, and others begin. */
const DIRTY = ["dirty blobs", learningUntil("2021-05-15", lateListings(dirtyPanelMarket()))] as const;
const MARKETS = WHOLE_MATRIX
  ? [["clean blobs", learningUntil("2021-06-04", panelMarket())] as const, DIRTY]
  : [DIRTY];

const pairs: BlobPair[] = [];
let twins: RefitTwin[][];

before(async () => {
  for (const [, market] of MARKETS) pairs.push(await writeMarket(market));
  const request = pairs.map(({ features, prices }) => ({ features, prices, configs: CONFIGS }));
  twins = await askTwin<RefitTwin[][]>("plain_refit_job.py", findEnvironment().python, request);
});
after(removeFolders);

describe("the numbers of a plain script", { concurrency: 2 }, () => {
  for (const [i, [market]] of MARKETS.entries()) {
    for (const [c, { model, ...params }] of CASES.entries()) {
      const { model_params: _, scaler: __, ...settings } = params as Record<string, unknown>;
      test(`${model} ${JSON.stringify(settings)} on ${market}`, async () => {
        const { output } = await runJob(pairs[i]!, CONFIGS[c]!);
        assertValid("output-blob", output);
        const hasLate = Object.values(output.refits!.by_ticker).some(({ joins }) => joins !== undefined);
        assert.equal(hasLate, market === "dirty blobs" && Number(settings.refit_every) < 1000);
        assertSame(output, twins[i]![c]!, FORESTS.has(model) ? 0 : LINEAR_TOLERANCE);
      });
    }
  }
});

function assertSame(output: OutputBlob, twin: RefitTwin, tolerance: number): void {
  assert.deepEqual(
    output.failures.map(({ ticker }) => ticker),
    twin.failures,
  );
  const negative = output.warnings.find(({ code }) => code === "negative_slope");
  assert.equal(negative?.count ?? 0, twin.negative_slope);
  const { blocks, by_ticker } = output.refits!;
  assert.deepEqual(
    blocks.map(({ start, end, fit_rows }) => ({ start, end, fit_rows })),
    twin.blocks,
  );
  assert.deepEqual(Object.keys(output.forecasts).sort(), Object.keys(twin.tickers).sort());
  for (const [ticker, expected] of Object.entries(twin.tickers)) {
    const tested = output.cross_validation![ticker]!;
    assert.deepEqual(
      tested.folds.map(({ train_rows }) => train_rows),
      expected.folds,
      ticker,
    );
    assertSameForecasts(tested, expected.out_of_fold, tolerance, `${ticker} out of fold`);
    const forecast = output.forecasts[ticker]!;
    // Factors and ends are sums, which the two add in different orders.
    const isPublished = twin.factors.some((factor) => factor !== 1);
    assertSameForecasts(forecast, expected.score, isPublished ? 1e-12 + tolerance : tolerance, ticker);
    assertClose(forecast.lower, expected.lower, 1e-9, `${ticker} lower`);
    assertClose(forecast.upper, expected.upper, 1e-9, `${ticker} upper`);
    const { label_means, factors, joins = null } = by_ticker[ticker]!;
    assert.equal(joins, expected.joins, ticker);
    assertClose(label_means, expected.label_means, 1e-12, `${ticker} label means`);
    const used = expected.label_means.map((mean, b) => (mean === null ? null : twin.factors[b]!));
    if (factors !== undefined) assertClose(factors, used, 1e-9, `${ticker} factors`);
  }
}
