/** `smoothing` in whole jobs: against a twin in pandas, replayed, audited, and blind to later prices. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checked } from "../../../src/audit/checked.testing.ts";
import { truncation } from "../../../src/audit/truncation/truncation.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { runDlJob, runMlJob } from "../../../src/jobs/run-job.ts";
import { replay } from "../../../src/replay/replay.testing.ts";
import { forecastsUpTo, pricesChangedAfter } from "../markets/later-changes.ts";
import type { Market } from "../markets/market.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";
import { askTwin, assertClose } from "../twins/plain-twin.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "./job-runs.ts";
import { openSharedEngine } from "./shared-engines.ts";

const MARKET = learningUntil("2021-06-04", lateListings(dirtyPanelMarket()));
const LAST = "2021-06-25";
const SMOOTHING = { smoothing: { half_life: 1.5 } };
const RIDGE = {
  ...{ model: "ridge", fit: "pooled", target: "relative", cv_test_size: 6, n_splits: 4 },
  ...{ shrinkage: "none", refit_every: 20, intervals: {} },
};
const LSTM = {
  "current option": "portfolio_lstm",
  data_processing: { lookback: 2 },
  training_params: { epochs: 2 },
  ...{ models_params: { portfolio_lstm: { hidden_dims: [4] } }, intervals: {} },
};
const ml = (params: object) => JSON.stringify({ "ML params": params });
const dl = (params: object) => JSON.stringify({ "NN params": { "Dot prediction": params } });

let blobs: BlobPair;
before(async () => {
  blobs = await writeMarket(MARKET);
});
after(removeFolders);

describe("smoothing", { timeout: 600_000 }, () => {
  for (const [name, params, isThin] of [
    ["one regressor for all", RIDGE, false],
    ["one per ticker, on dates of few", { ...RIDGE, fit: "per_ticker", target: "return" }, true],
  ] as const)
    test(`gives the forecasts of a twin in pandas: ${name}`, async () => {
      const { output: plain } = await runJob(blobs, ml(params));
      const { output } = await runJob(blobs, ml({ ...params, ...SMOOTHING }));
      const request = { output: plain, half_life: 1.5 };
      const twin = await askTwin<object>("plain_smoothing.py", findEnvironment().python, request);
      const found = Object.entries(output.forecasts).map(([ticker, { predicted }]) => [
        ticker,
        [...(output.cross_validation![ticker]?.predicted ?? []), ...predicted],
      ]);
      assertClose(Object.fromEntries(found), twin, 1e-12, "forecasts");
      assert.deepEqual(output.model.smoothing, { half_life: 1.5 });
      for (const [ticker, value] of Object.entries(output.mu))
        assert.equal(value, output.forecasts[ticker]!.predicted.at(-1));
      const turnovers = [plain, output].map(({ metrics }) => metrics.score.by_delay![0]!.turnover!);
      assert.ok(turnovers[1]! < 0.7 * turnovers[0]!, String(turnovers));
      const { warnings } = output;
      assert.equal(
        warnings.some(({ message }) => /not smoothed/.test(message)),
        isThin,
      );
    });

  test("changes no byte with a half-life of 0", async () => {
    const [plain, off] = [RIDGE, { ...RIDGE, smoothing: { half_life: 0 } }].map(ml);
    const [one, other] = [await runJob(blobs, plain!), await runJob(blobs, off!)];
    assert.deepEqual(
      { ...one.output, id: 0, created_at: 0, provenance: 0 },
      { ...other.output, id: 0, created_at: 0, provenance: 0 },
    );
  });

  for (const [name, config, job] of [
    ["regressors", ml({ ...RIDGE, ...SMOOTHING, shrinkage: "pooled" }), runMlJob],
    ["networks", dl({ ...LSTM, ...SMOOTHING }), runDlJob],
  ] as const) {
    test(`of ${name} is blind to later prices`, async () => {
      const { output: whole } = await runJob(blobs, config, 1, job);
      const later = await writeMarket(pricesChangedAfter(LAST, MARKET));
      const { output: changed } = await runJob(later, config, 1, job);
      assert.deepEqual(forecastsUpTo(LAST, changed), forecastsUpTo(LAST, whole));
      assert.notDeepEqual(changed.forecasts, whole.forecasts);
    });

    test(`of ${name} is replayed to the byte, and the audit finds nothing`, async () => {
      const { url } = await runJob(blobs, config, 1, job);
      const verdict = await replay({ outputUrl: fileURLToPath(url) }, openSharedEngine);
      assert.equal(verdict.verdict, "identical");
      const operation = job === runMlJob ? "run_ml_job" : "run_dl_job";
      const request = {
        ...{ featureUrl: blobs.features, dataExtractorUrl: blobs.prices, config, id: "audit" },
      };
      const inputs = { request, operation, truncations: 1 } as const;
      const { status, findings } = await checked(truncation, inputs, { openEngine: openSharedEngine });
      assert.deepEqual([status, findings], ["clean", []]);
    });
  }

  test("of held-out rows is blind to what the last model learns, also beside a ticker that is delisted", async () => {
    const { priceDates, prices } = MARKET;
    const end = priceDates.indexOf(MARKET.bounds.Learning_end!) - 4;
    const delisted = prices.get("AAPL")!.map((price, d) => (d < end ? price : null));
    const market: Market = { ...MARKET, prices: new Map([...prices, ["AAPL", delisted] as const]) };
    const last = priceDates[end - 1]!;
    const heldOutUpTo = async (own: Market) => {
      const { output } = await runJob(await writeMarket(own), ml({ ...RIDGE, ...SMOOTHING, n_splits: 8 }));
      assert.equal(output.forecasts.AAPL!.dates.at(-1), last);
      return forecastsUpTo(last, output)[0]!;
    };
    const whole = await heldOutUpTo(market);
    assert.ok(whole.flat(2).some((row) => Array.isArray(row) && row[0] === last));
    assert.deepEqual(await heldOutUpTo(pricesChangedAfter(last, market)), whole);
  });

  test("needs 5 tickers, and says so before anything is fitted", async () => {
    const market = panelMarket();
    const few = await writeMarket({ ...market, prices: new Map([...market.prices].slice(0, 4)) });
    await assert.rejects(runJob(few, ml({ model: "ridge", ...SMOOTHING })), {
      code: "few_tickers",
      message:
        /at least 5 tickers on a date, and 4 tickers can be fitted; add tickers, or leave smoothing out/,
    });
  });

  test("of networks needs a calibration part", async () => {
    const { intervals: _, ...rest } = LSTM;
    await assert.rejects(runJob(blobs, dl({ ...rest, ...SMOOTHING }), 1, runDlJob), {
      code: "invalid_request",
      message: /smoothing: networks are smoothed from their calibration part on.*add intervals/,
    });
  });
});
