/** What `fit`, `target` and `cross_section` may not see, what they leave unchanged, and how their jobs fail. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditContext, auditInputs } from "../../../src/audit/checked.testing.ts";
import { runAudit } from "../../../src/audit/run-audit.ts";
import { truncation } from "../../../src/audit/truncation/truncation.ts";
import type { Architecture } from "../../../src/contract/config/networks.ts";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { JOBS, runMlJob } from "../../../src/jobs/run-job.ts";
import { validateJob } from "../../../src/jobs/validate-job.ts";
import { replayOutput } from "../../../src/replay/replay.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { changedAfter, forecastsUpTo } from "../markets/later-changes.ts";
import type { Cell, Market } from "../markets/market.ts";
import { panelMarket } from "../markets/panel-market.ts";
import { networkConfig, runNetworkJob, type Sections } from "../networks/network-jobs.ts";

after(removeFolders);

const MARKET = panelMarket();
const ALL = { fit: "pooled", target: "relative", cross_section: true };

function config(settings: object, params: object = { model: "ridge", scaler: "standard" }): string {
  return JSON.stringify({ "ML params": { ...params, cv_test_size: 10, n_splits: 3, ...settings } });
}

/** JSON text: a small network that learns relative targets from features and their z-scores. */
function relativeNetwork(option: Architecture, sections: Sections): string {
  const asked = JSON.parse(networkConfig(option, sections));
  Object.assign(asked["NN params"]["Dot prediction"], { target: "relative", cross_section: true });
  return JSON.stringify(asked);
}

async function networkOn(market: Market, text: string): Promise<OutputBlob> {
  return (await runNetworkJob(await writeMarket(market), text)).output;
}

function trainLosses({ training }: OutputBlob) {
  return Object.entries(training!).map(([name, { epochs }]) => [name, epochs.map((e) => e.train_loss)]);
}

async function jobOn(market: Market, text: string): Promise<OutputBlob> {
  return (await runJob(await writeMarket(market), text)).output;
}

/** In the release tier more delays, and all settings. */
const DELAYS = WHOLE_MATRIX ? [1, 2, 5] : [2];

describe("later data change no earlier forecast", () => {
  for (const settings of [
    ...(WHOLE_MATRIX ? [ALL, { fit: "pooled" }, { target: "relative" }] : []),
    { cross_section: true, target: "relative" },
    ...DELAYS.flatMap((delay) => [
      { delay, ...ALL },
      { delay, cross_section: true },
    ]),
  ]) {
    test(JSON.stringify(settings), async () => {
      const whole = await jobOn(MARKET, config(settings));
      const [fold] = whole.cross_validation!.AAPL!.folds.slice(1);
      // The first test date of the second fold, one in its block, and one among the score rows.
      const days = MARKET.priceDates;
      const inside = days[days.indexOf(fold!.test_start) + 4]!;
      for (const last of [fold!.test_start, inside, days[160]!]) {
        const changed = await jobOn(changedAfter(last, MARKET), config(settings));
        const [before, after] = [whole, changed].map((output) => forecastsUpTo(last, output));
        assert.ok(before!.flat(2).length > 0);
        assert.deepEqual(after, before);
        assert.notDeepEqual(changed.forecasts, whole.forecasts);
      }
    });
  }
});

describe("later data change no earlier forecast,", () => {
  const last = MARKET.priceDates[160]!;

  const networks = ["lstm", "portfolio_lstm", "portfolio_transformer"] as const;
  for (const [option, delay] of [
    ...networks.slice(WHOLE_MATRIX ? 0 : 2).map((option) => [option, 0] as const),
    ...DELAYS.flatMap((delay) => networks.slice(0, 2).map((option) => [option, delay] as const)),
  ]) {
    const text = relativeNetwork(option, { delay, intervals: { alpha: 0.2 } });
    test(`with ${option} and delay ${delay}`, async () => {
      const [whole, changed] = [
        await networkOn(MARKET, text),
        await networkOn(changedAfter(last, MARKET), text),
      ];
      assert.deepEqual(forecastsUpTo(last, changed), forecastsUpTo(last, whole));
      assert.notDeepEqual(changed.forecasts, whole.forecasts);
    });

    test(`${option} with delay ${delay} learns and stops by nothing after its parts`, async () => {
      const whole = await networkOn(MARKET, text);
      const { train, validate, calibrate } = whole.fits!.AAPL!.splits!;
      const days = MARKET.priceDates;
      // The last labels of both parts are known when the next part begins.
      for (const [part, next] of [
        [train, validate],
        [validate, calibrate],
      ] as const)
        assert.equal(days.indexOf(part!.end) + 1 + delay, days.indexOf(next!.start));
      const changed = await networkOn(changedAfter(validate!.start, MARKET), text);
      assert.deepEqual(trainLosses(changed), trainLosses(whole));
      assert.notDeepEqual(changed.training, whole.training);
      const calibrated = await networkOn(changedAfter(calibrate!.start, MARKET), text);
      assert.deepEqual(calibrated.training, whole.training);
    });
  }
});

for (const [job, operation, text] of [
  ["a job with all three", "run_ml_job", config(ALL)],
  ["a network of relative targets", "run_dl_job", relativeNetwork("portfolio_lstm", {})],
  ["a job with delay", "run_ml_job", config({ delay: 2, ...ALL, refit_every: 6, intervals: {} })],
  ["a network with delay", "run_dl_job", relativeNetwork("portfolio_lstm", { delay: 1, intervals: {} })],
] as const) {
  test(`the audit's truncations of ${job} are clean, and a replay is identical`, async () => {
    const { features, prices } = await writeMarket(MARKET);
    const request = { featureUrl: features, dataExtractorUrl: prices, config: text, id: "audit" };
    const context = auditContext({ openEngine: openSharedEngine });
    const inputs = auditInputs({ request, operation });
    const { checks } = await runAudit(inputs, context, { checks: [truncation] });
    assert.equal(checks.truncation!.status, "clean");
    const record = await JOBS[operation](request, context);
    const { verdict } = await replayOutput(
      { id: "replay", outputUrl: fileURLToPath(record.output_url) },
      context,
    );
    assert.equal(verdict, "identical");
  });
}

test("a joint network that monitors the IC records it, and keeps the epoch with the highest", async () => {
  const blobs = await writeMarket(MARKET);
  const asked = (monitor: object) =>
    networkConfig("portfolio_lstm", { training: { epochs: 5, patience: 5, ...monitor } });
  const [byIc, again] = [
    await runNetworkJob(blobs, asked({ monitor: "ic" }), 1),
    await runNetworkJob(blobs, asked({ monitor: "ic" }), 3),
  ];
  assertValid("output-blob", byIc.output);
  assert.deepEqual(again.output.forecasts, byIc.output.forecasts);
  const { epochs, best_epoch } = byIc.output.training!.portfolio!;
  const ics = epochs.map(({ validation_ic }) => validation_ic!);
  assert.equal(best_epoch, ics.indexOf(Math.max(...ics)) + 1);
  const byLoss = await runNetworkJob(blobs, asked({ monitor: "loss" }));
  const losses = byLoss.output.training!.portfolio!.epochs;
  assert.deepEqual(
    losses,
    epochs.map(({ validation_ic: _, ...epoch }) => epoch),
  );
  const recorded = ({ model }: typeof byIc.output) => model.training_params as object;
  assert.equal((recorded(byIc.output) as { monitor?: string }).monitor, "ic");
  assert.ok(!Object.hasOwn(recorded(byLoss.output), "monitor"));
});

describe("failures", () => {
  async function failure(market: Market, text: string): Promise<MucastError> {
    try {
      await jobOn(market, text);
    } catch (error) {
      assert.ok(error instanceof MucastError);
      return error;
    }
    return assert.fail("the job succeeds");
  }

  const withFeatures = (change: (cells: readonly Cell[], ticker: string) => readonly Cell[]): Market => ({
    ...MARKET,
    features: new Map(
      [...MARKET.features].map(([ticker, columns]) => [
        ticker,
        new Map([...columns].map(([name, cells]) => [name, change(cells, ticker)])),
      ]),
    ),
  });

  test("of a fit end the job with the library's message", async () => {
    const huge = withFeatures((cells, ticker) => (ticker === "KO" ? cells.map(() => 1e300) : cells));
    const error = await failure(
      huge,
      config({ fit: "pooled" }, { model: "rf", model_params: { n_estimators: 2 } }),
    );
    assert.equal(error.code, "fit_failed");
    assert.match(error.message, /pooled.*float32/s);
  });

  test("does not start a fit that needs more memory than the job may hold", async () => {
    const text = config({ fit: "pooled" }, { model: "rf", model_params: { n_estimators: 100_000 } });
    const limited: typeof runMlJob = (request, context) =>
      runMlJob(request, { ...context, memoryBytes: 2 ** 32 });
    await assert.rejects(runJob(await writeMarket(MARKET), text, 1, limited), {
      code: "out_of_memory",
      message:
        /^one random_forest for all tickers, on \d+ rows and 6 columns, takes about \d{5} MiB .* over the limit of 4096 MiB$/,
    });
  });

  test("does not fit any candidate if one needs more memory than the job may hold", async () => {
    const forest = { model: "rf", fit: "pooled", model_params: { n_estimators: 100_000 } };
    const text = config({}, { model: "ridge", choice: { candidates: [forest], warm_up: 0 } });
    const limited: typeof runMlJob = (request, context) =>
      runMlJob(request, {
        ...context,
        memoryBytes: 2 ** 32,
        report: (event) => assert.notEqual(event.kind === "progress" && event.stage, "fit"),
      });
    await assert.rejects(runJob(await writeMarket(MARKET), text, 1, limited), {
      code: "out_of_memory",
      message: /^one random_forest for all tickers, .* over the limit of 4096 MiB$/,
    });
  });

  test("with fewer than five tickers, no ticker is left", async () => {
    const few = ["KO", "XOM", "10"];
    const prices = new Map([...MARKET.prices].filter(([ticker]) => !few.includes(ticker)));
    const error = await failure({ ...MARKET, prices }, config({ target: "relative" }));
    assert.equal(error.code, "few_tickers");
    assert.match(error.message, /0 fit rows with a relative target, at least 30 are needed/);
    // No feature is scored, so cross_section adds none.
    const output = await jobOn({ ...MARKET, prices }, config({ cross_section: true }));
    assert.equal(output.fits!.AAPL!.features, 6);
  });
});

test("a preview shows the matrix, folds and warnings of the job", async () => {
  const blobs = await writeMarket(MARKET);
  const request = {
    featureUrl: blobs.features,
    dataExtractorUrl: blobs.prices,
    config: config(ALL),
    id: "preview",
  };
  const preview = await validateJob(request, auditContext());
  const { output } = await runJob(blobs, config(ALL));
  const { fit_rows, columns, rows, bytes, fit_bytes, folds } = preview.pooled!;
  assert.deepEqual([fit_rows, columns, folds], [output.pooled!.fit_rows, output.pooled!.features, 3]);
  assert.equal(
    rows,
    fit_rows + Object.values(output.forecasts).reduce((sum, { dates }) => sum + dates.length, 0),
  );
  assert.equal(bytes, 8 * rows * columns);
  assert.ok(fit_bytes > 8 * fit_rows * columns);
  assert.deepEqual(
    preview.tickers.map(({ ticker, fit_rows: own }) => [ticker, own]),
    Object.entries(output.fits!)
      .map(([ticker, { fit_rows: own }]) => [ticker, own])
      .sort(),
  );
});
