/**
 * The scalers of run_dl_job, seen from outside: on features for which two scalers are the same map, a network learns the same bytes with
 * both. Only the rows up to the last training window make them the same.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type JobRun, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { type Cell, type Market, weekdays } from "../markets/market.ts";
import { smallMarket, TICKERS, withFeatures } from "../markets/network-market.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";

after(removeFolders);

/** 125 windows of five rows; the first 100 train, up to row 103. */
const MARKET = smallMarket();
const ROWS = 104;
const DATES = weekdays(160);

const sign = (i: number) => (i % 2 === 0 ? 1 : -1);
/** A design by ticker. Rows of the training part come first; the others have different values, and no scaler sees them. */
const DESIGNS: Readonly<Record<(typeof TICKERS)[number], (i: number) => number>> = {
  AAPL: (i) => (i < ROWS ? sign(i) : 0.25 * (i % 7)),
  MSFT: (i) => (i < ROWS ? (i === 0 ? 2 : sign(i)) : i % 5),
  JPM: (i) => (i < ROWS ? (i % 5) / 4 : -3 + (i % 4)),
  KO: (i) => (i < ROWS ? (i < 16 ? sign(i) : 0) : (i % 3) - 1),
};

/** The market with three features of each ticker by its design, each in its own order, and the others constant. */
function designed(constant: number): Market {
  let market = MARKET;
  for (const ticker of TICKERS) {
    market = withFeatures(market, ticker, () => constant);
    for (const [c, name] of ["mom_5", "vol_20", "noise"].entries()) {
      const moved = (i: number) => (i < ROWS ? (i * (2 * c + 1)) % ROWS : i);
      const cell = (_: Cell, date: string) => DESIGNS[ticker](moved(DATES.indexOf(date)));
      market = withFeatures(market, ticker, cell, [name]);
    }
  }
  return market;
}

const CONSTANTS = { standard: 5, maxabs: 0, robust: 3, minmax: -2 } as const;
type Scaler = keyof typeof CONSTANTS;
const outputs = new Map<Scaler, Promise<JobRun>>();

/** What is learned about a ticker with a scaler; its constant features have their own constant. */
async function learned(scaler: Scaler, ticker: string): Promise<unknown> {
  const blobs = () => writeMarket(designed(CONSTANTS[scaler]));
  const run =
    outputs.get(scaler) ??
    blobs().then((pair) => runNetworkJob(pair, networkConfig("mlp", { data: { scaler } })));
  outputs.set(scaler, run);
  const { mu, forecasts, training } = (await run).output;
  return [mu[ticker], forecasts[ticker], training![ticker]];
}

describe("constant features are 0, and two scalers are the same", { concurrency: 2 }, () => {
  for (const [ticker, one, other, what] of [
    ["AAPL", "standard", "maxabs", "rows of 1 and -1 alike"],
    ["MSFT", "robust", "maxabs", "rows of 1 and -1 alike, and one of 2"],
    ["JPM", "minmax", "maxabs", "rows from 0 to 1"],
    ["KO", "robust", "standard", "rows of 0 and a few of 1 and -1, whose quartiles coincide"],
  ] as const) {
    test(`${one} and ${other} on ${what}`, async () => {
      assert.deepEqual(await learned(one, ticker), await learned(other, ticker));
    });
  }

  test("and no two of them are the same on other rows", async () => {
    const all = Object.keys(CONSTANTS) as Scaler[];
    for (const ticker of ["MSFT", "JPM"]) {
      const different = new Set(
        await Promise.all(all.map(async (s) => JSON.stringify(await learned(s, ticker)))),
      );
      assert.equal(different.size, 3, ticker);
    }
  });
});
