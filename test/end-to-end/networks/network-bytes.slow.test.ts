/** The same request to run_dl_job gives the same bytes, and with one network per ticker, tickers do not affect each other. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { IN_RELEASE_TIER } from "../../whole-matrix.testing.ts";
import { type BlobPair, type JobRun, removeFolders, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import type { Market } from "../markets/market.ts";
import { smallMarket, TICKERS, withFeatures, without, withPrices } from "../markets/network-market.ts";
import { Seeded } from "../markets/seeded.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";

after(removeFolders);

const MARKET = smallMarket();
/** Dropout and several batches per epoch: much that could depend on an order. */
const LSTM = networkConfig("lstm", { intervals: {}, training: { loss_type: "r2", epochs: 3 } });
const TRANSFORMER = networkConfig("portfolio_transformer", {
  intervals: {},
  training: { loss_type: "mahalanobis" },
});

let written: Promise<BlobPair> | undefined;
const small = () => {
  written ??= writeMarket(MARKET);
  return written;
};
let trained: Promise<JobRun> | undefined;
const whole = () => {
  trained ??= small().then((blobs) => runNetworkJob(blobs, LSTM));
  return trained;
};

const jobOn = async (market: Market, config: string) => runNetworkJob(await writeMarket(market), config);

/** Everything that an output says about some tickers. */
function said({ mu, forecasts, training, metrics }: OutputBlob, tickers: readonly string[]): string {
  return JSON.stringify(
    tickers.map((t) => [
      mu[t],
      forecasts[t],
      training?.[t],
      metrics.score.by_ticker[t],
      metrics.intervals?.by_ticker[t],
    ]),
  );
}

/** The cells of a market with dates and tickers in another order. */
function shuffled(market: Market): Market {
  const random = new Seeded(9);
  const order = random.shuffle([...market.priceDates.keys()]);
  const at = <T>(cells: readonly T[]) => order.map((i) => cells[i]!);
  return {
    ...market,
    priceDates: at(market.priceDates),
    prices: new Map(random.shuffle([...market.prices]).map(([t, cells]) => [t, at(cells)])),
    features: new Map(random.shuffle([...market.features])),
  };
}

const anonymous = ({ output }: JobRun) => ({ ...output, id: "", created_at: "", provenance: {} });

describe("the same request gives the same bytes", { concurrency: 2 }, () => {
  test("of lstm with one worker and three", IN_RELEASE_TIER, async () => {
    const three = await runNetworkJob(await small(), LSTM, 3);
    assert.equal(withoutIdentity(three.text), withoutIdentity((await whole()).text));
  });

  test("of portfolio_transformer with one worker and three, with tickers and dates in another order", async () => {
    const one = await runNetworkJob(await small(), TRANSFORMER, 1);
    const three = await runNetworkJob(await small(), TRANSFORMER, 3);
    assert.equal(withoutIdentity(three.text), withoutIdentity(one.text));
    const other = await jobOn(shuffled(MARKET), TRANSFORMER);
    assert.deepEqual(anonymous(other), anonymous(one));
  });

  test("except for another seed", async () => {
    const { output } = await runNetworkJob(await small(), LSTM.replace('"seed":7', '"seed":8'));
    for (const ticker of TICKERS) assert.notEqual(output.mu[ticker], (await whole()).output.mu[ticker]);
  });
});

/** The market with one value of a ticker so extreme that no scaling brings it near the others. */
const outlier = (market: Market, ticker: string, index: number) =>
  withFeatures(market, ticker, (cell, date) => (date === MARKET.featureDates[index] ? 1e300 : cell), [
    "noise",
  ]);

describe("with one network per ticker, no byte of a ticker changes", { concurrency: 2 }, () => {
  test("when another is removed, a third is added, and the order changes", async () => {
    const twin: Market = {
      ...MARKET,
      prices: new Map([...MARKET.prices, ["ZZZ", MARKET.prices.get("AAPL")!]]),
      features: new Map([...MARKET.features, ["ZZZ", MARKET.features.get("AAPL")!]]),
    };
    const { output } = await jobOn(shuffled(without(twin, "MSFT")), LSTM);
    const kept = TICKERS.filter((ticker) => ticker !== "MSFT");
    assert.equal(said(output, kept), said((await whole()).output, kept));
    assert.notEqual(output.mu.ZZZ, output.mu.AAPL, "each ticker's network begins with weights of its own");
  });

  test("when others fail: by a value of 1e300 that trains, or a price that never moves", async () => {
    // A recurrent network would treat such a value as merely large.
    const mlp = networkConfig("mlp", { intervals: {} });
    const undisturbed = await runNetworkJob(await small(), mlp);
    const broken = withPrices(outlier(MARKET, "MSFT", 40), "KO", () => 40);
    const run = await runNetworkJob(await writeMarket(broken), mlp, 3);
    const { output, events } = run;
    assert.deepEqual(
      output.failures.map(({ ticker, code }) => [ticker, code]),
      [
        ["KO", "constant_target"],
        ["MSFT", "diverged"],
      ],
    );
    assert.deepEqual(
      events.flatMap((event) => (event.kind === "failure" ? [event.failure] : [])),
      output.failures,
    );
    assert.deepEqual(
      [Object.keys(output.mu), Object.keys(output.training!)],
      [
        ["AAPL", "JPM"],
        ["AAPL", "JPM"],
      ],
    );
    assert.equal(said(output, ["AAPL", "JPM"]), said(undisturbed.output, ["AAPL", "JPM"]));
  });
});

test("a lookback longer than one ticker's history fails only that ticker, with its counts", async () => {
  const late = withPrices(MARKET, "KO", (cell, date) => (date < MARKET.priceDates[70]! ? null : cell));
  const { output } = await jobOn(late, networkConfig("mlp", { data: { lookback: 70 } }));
  assert.deepEqual(
    output.failures.map(({ ticker, code }) => [ticker, code]),
    [["KO", "insufficient_history"]],
  );
  assert.match(output.failures[0]!.message, /lookback|window/);
  assert.match(output.failures[0]!.message, /\b70\b/);
  assert.deepEqual(Object.keys(output.mu).sort(), ["AAPL", "JPM", "MSFT"]);
});

async function failure(market: Market, config: string): Promise<MucastError> {
  try {
    await jobOn(market, config);
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  return assert.fail("the job has to fail");
}

describe("a job fails", { concurrency: 2 }, () => {
  const WILD = { optimizer: "sgd", learning_rate: 1e30, grad_clip: 0 };
  test("with all_failed if a huge learning rate lets the network of every ticker diverge", async () => {
    const error = await failure(MARKET, networkConfig("mlp", { training: WILD }));
    assert.equal(error.code, "all_failed");
    assert.deepEqual(
      error.data.failures?.map(({ ticker, code }) => [ticker, code]),
      [...TICKERS].sort().map((ticker) => [ticker, "diverged"]),
    );
  });

  test("with diverged if the single network of all tickers does", async () => {
    const error = await failure(MARKET, networkConfig("portfolio_lstm", { training: WILD }));
    assert.equal(error.code, "diverged");
  });

  test("with insufficient_history if no ticker is as long as the lookback", async () => {
    const error = await failure(MARKET, networkConfig("portfolio_transformer", { data: { lookback: 500 } }));
    assert.equal(error.code, "insufficient_history");
    assert.equal(error.data.failures?.length, TICKERS.length);
  });
});
