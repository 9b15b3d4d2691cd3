/**
 * The data that a network of run_dl_job must not see: data after a forecast's date, and in training data after the training part.
 * Compared as bytes.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { type JobRun, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { corruptedAfter, upTo } from "../markets/corrupted-market.ts";
import { type Market, weekdays } from "../markets/market.ts";
import {
  type Change,
  dirtyNetworkMarket,
  smallMarket,
  TICKERS,
  withFeatures,
  withPrices,
} from "../markets/network-market.ts";
import { Seeded } from "../markets/seeded.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";

after(removeFolders);

const MARKET = smallMarket();
const DATES = weekdays(160);

const jobOn = async (market: Market, config: string) => runNetworkJob(await writeMarket(market), config);

const undisturbed = new Map<string, Promise<JobRun>>();
/** The job on the unchanged small market; each config runs once. */
function whole(config: string): Promise<JobRun> {
  const run = undisturbed.get(config) ?? jobOn(MARKET, config);
  undisturbed.set(config, run);
  return run;
}

/** The market with every ticker's cells changed. */
function withAll(market: Market, change: { readonly features?: Change; readonly prices?: Change }): Market {
  let changed = market;
  for (const ticker of TICKERS) {
    if (change.features) changed = withFeatures(changed, ticker, change.features);
    if (change.prices) changed = withPrices(changed, ticker, change.prices);
  }
  return changed;
}

/** Other cells on the dates that `where` accepts: finite, so that no row is lost, and often far from the rest. */
function elsewhere(where: (index: number) => boolean, sizes: readonly number[]): Change {
  const random = new Seeded(5);
  const pick = () => sizes[Math.floor(sizes.length * random.uniform())]!;
  return (cell, date) => (where(DATES.indexOf(date)) ? pick() * (0.5 + random.uniform()) : cell);
}

const FEATURES = [-40, 30, 1, -3];
const PRICES = [3, 20, 1000];

/** The training losses of every network, without its best epoch and its validation losses. */
const trainLosses = ({ training }: OutputBlob) =>
  JSON.stringify(
    Object.entries(training!).map(([name, { epochs }]) => [name, epochs.map((e) => e.train_loss)]),
  );

/** With a calibration part, and a stop that may come early. */
const CALIBRATED = { intervals: {}, training: { epochs: 5, patience: 1 } };
const LSTM = networkConfig("lstm", CALIBRATED);
const PORTFOLIO_LSTM = networkConfig("portfolio_lstm", CALIBRATED);
/** Without one, and without a stop. */
const LONG = { epochs: 3, patience: 10 };
const MLP = networkConfig("mlp", { training: { ...LONG, loss_type: "r2" }, data: { scaler: "standard" } });
const TRANSFORMER = networkConfig("portfolio_transformer", {
  training: { ...LONG, loss_type: "mahalanobis" },
  data: { scaler: "minmax" },
});

describe("data after a day past the cut change no earlier forecast", { concurrency: 2 }, () => {
  for (const [name, config] of [
    ["lstm, with intervals", LSTM],
    ["portfolio_lstm, with intervals", PORTFOLIO_LSTM],
    ["portfolio_transformer, without", TRANSFORMER],
  ] as const) {
    test(name, async () => {
      const [last, traded] = [DATES[132]!, DATES[155]!];
      const [one, other] = [await whole(config), await jobOn(corruptedAfter(last, MARKET, traded), config)];
      assert.equal(upTo(last, other.output), upTo(last, one.output));
      assert.ok(upTo(last, one.output).includes(last), "something is dated on the last day");
      assert.notDeepEqual(other.output.forecasts, one.output.forecasts, "something changed after it");
    });
  }

  test("portfolio_transformer, with intervals, on blobs with every fault", async () => {
    const market = dirtyNetworkMarket({ learningEnd: true });
    const config = networkConfig("portfolio_transformer", { intervals: {} });
    const last = "2021-11-15";
    const [one, other] = [await jobOn(market, config), await jobOn(corruptedAfter(last, market), config)];
    assert.equal(upTo(last, other.output), upTo(last, one.output));
    assert.ok(upTo(last, one.output).includes(last), "something is dated on the last day");
  });
});

/*
 * 129 fit rows hold 125 windows of five rows. Without intervals 100 of them train, those that end on dates 4 to 103;
 * with intervals 89, up to date 92, and 18 validate, up to date 110. A label is realised on the next date.
 */
describe("training, scaler and target scale see only the training part", { concurrency: 2 }, () => {
  /** The job after other values from a date on, in some of the tickers. */
  const trained = async (config: string, first: { features: number; prices: number }) => {
    const features = elsewhere((i) => i >= first.features, FEATURES);
    const prices = elsewhere((i) => i >= first.prices, PRICES);
    return (await jobOn(withAll(MARKET, { features, prices }), config)).output;
  };

  for (const [name, config] of [
    ["mlp", MLP],
    ["portfolio_transformer", TRANSFORMER],
  ] as const) {
    test(`${name}: other values from the validation part on leave every training loss unchanged`, async () => {
      const one = (await whole(config)).output;
      const other = await trained(config, { features: 104, prices: 105 });
      assert.equal(trainLosses(other), trainLosses(one));
      assert.notDeepEqual(other.training, one.training, "validation saw them");
    });
  }

  for (const [name, config] of [
    ["lstm", LSTM],
    ["portfolio_lstm", PORTFOLIO_LSTM],
  ] as const) {
    test(`${name}: the calibration part affects neither training nor stopping, and gives the interval`, async () => {
      const between = (first: number) => (i: number) => i >= first && i < 130;
      const features = elsewhere(between(111), FEATURES);
      const prices = elsewhere(between(112), PRICES);
      const one = (await whole(config)).output;
      const other = (await jobOn(withAll(MARKET, { features, prices }), config)).output;
      assert.deepEqual(other.training, one.training);
      assert.deepEqual(other.mu, one.mu);
      for (const ticker of TICKERS) {
        const width = ({ forecasts }: OutputBlob) =>
          forecasts[ticker]!.upper.at(-1)! - forecasts[ticker]!.lower.at(-1)!;
        assert.notEqual(width(other), width(one), ticker);
      }
    });
  }
});
