/** The same request to run_dl_job gives the same bytes, and with one network per ticker, tickers do not affect each other. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { type BlobPair, type JobRun, removeFolders, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import type { Market } from "../markets/market.ts";
import { smallMarket, TICKERS, without } from "../markets/network-market.ts";
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
  test("of portfolio_transformer with one worker and three, with tickers and dates in another order", async () => {
    const one = await runNetworkJob(await small(), TRANSFORMER, 1);
    const three = await runNetworkJob(await small(), TRANSFORMER, 3);
    assert.equal(withoutIdentity(three.text), withoutIdentity(one.text));
    const other = await jobOn(shuffled(MARKET), TRANSFORMER);
    assert.deepEqual(anonymous(other), anonymous(one));
  });
});

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
});
