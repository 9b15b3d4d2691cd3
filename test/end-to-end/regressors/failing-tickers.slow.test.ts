/** Tickers that fail by themselves, and jobs in which nothing useful is left. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { openFiles } from "../../open-files.testing.ts";
import { removeFolders, runJob, unjudged, writeMarket } from "../jobs/job-runs.ts";
import { type Cell, cleanMarket, type Market } from "../markets/market.ts";

/** The library with the fastest import. */
const QUICK =
  '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 3, "depth": 2}}}';
const FOREST = '{"ML params": {"model": "rf", "n_splits": 2, "model_params": {"n_estimators": 3}}}';

/** lightgbm writes outside its memory if a missing column is named. */
const interacting = (groups: readonly (readonly number[])[]) =>
  JSON.stringify({
    "ML params": {
      model: "lightgbm",
      n_splits: 2,
      model_params: { n_estimators: 3, interaction_constraints: groups },
    },
  });

after(removeFolders);

type Columns = ReadonlyMap<string, readonly Cell[]>;

/** The market with the features of some tickers changed. */
function withFeatures(
  market: Market,
  tickers: readonly string[],
  change: (columns: Columns) => Columns,
): Market {
  const features = [...market.features].map(
    ([ticker, columns]) => [ticker, tickers.includes(ticker) ? change(columns) : columns] as const,
  );
  return { ...market, features: new Map(features) };
}

function withPrices(
  market: Market,
  tickers: readonly string[],
  change: (cells: readonly Cell[]) => Cell[],
): Market {
  const prices = [...market.prices].map(
    ([ticker, cells]) => [ticker, tickers.includes(ticker) ? change(cells) : cells] as const,
  );
  return { ...market, prices: new Map(prices) };
}

const ALL = ["AAPL", "MSFT", "JPM", "XOM", "KO"];
const onlyLast = (count: number) => (cells: readonly Cell[]) =>
  cells.map((cell, i) => (i < cells.length - count ? null : cell));
/** More than a float32 can represent, in which a forest computes. */
const beyondFloat32 = (columns: Columns) =>
  new Map([...columns].map(([name, cells]) => [name, cells.map(() => 1e300 as Cell)]));

/** The error with which a job fails. It leaves neither blob open. */
async function failure(market: Market, config: string): Promise<MucastError> {
  const pair = await writeMarket(market);
  try {
    await runJob(pair, config);
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    assert.deepEqual(openFilesIn(pair.folder), []);
    return error;
  }
  return assert.fail("the job has to fail");
}

/** Files below `folder` that this process has open, if the system reports them (Linux). */
function openFilesIn(folder: string): string[] {
  if (process.platform !== "linux") return [];
  return openFiles().filter((path) => path.startsWith(folder));
}

describe("a ticker that fails", { concurrency: 2 }, () => {
  test("in its fit is listed with the library's message, and the others keep every number", async () => {
    const market = cleanMarket("2021-10-29");
    const whole = await runJob(await writeMarket(market), FOREST);
    const { output } = await runJob(await writeMarket(withFeatures(market, ["MSFT"], beyondFloat32)), FOREST);
    assert.deepEqual(
      output.failures.map(({ ticker, code }) => [ticker, code]),
      [["MSFT", "fit_failed"]],
    );
    assert.match(output.failures[0]!.message, /float32/);
    const { MSFT: _, ...others } = whole.output.forecasts;
    assert.deepEqual(output.forecasts, others);
    assert.ok(!("MSFT" in output.mu) && !("MSFT" in output.cross_validation!));
  });

  test("without a column that the model's arguments name fails by itself, and no library sees the name", async () => {
    const empty = (columns: Columns) =>
      new Map([...columns].map(([name, cells]) => [name, name === "vol_20" ? cells.map(() => null) : cells]));
    const market = withFeatures(cleanMarket(), ["KO"], empty);
    const { output } = await runJob(await writeMarket(market), interacting([[0, 1], [5]]));
    assert.deepEqual(
      output.failures.map(({ ticker, code }) => [ticker, code]),
      [["KO", "invalid_model_params"]],
    );
    assert.match(
      output.failures[0]!.message,
      /interaction_constraints: \[\[0,1\],\[5\]\] names column 5, but the ticker has 5 columns: 0 "mom_5", 1 "level"/,
    );
    assert.deepEqual(Object.keys(output.mu).sort(), ["AAPL", "JPM", "MSFT", "XOM"]);
  });

  test("with 29 fit rows fails with the counts, and 30 are enough", async () => {
    const market = withPrices(withPrices(cleanMarket(), ["KO"], onlyLast(30)), ["XOM"], onlyLast(31));
    const { output } = await runJob(await writeMarket(market), QUICK);
    assert.deepEqual(
      output.failures.map(({ ticker, code }) => [ticker, code]),
      [["KO", "insufficient_history"]],
    );
    assert.match(output.failures[0]!.message, /\b29\b/);
    assert.equal(typeof output.mu.XOM, "number");
  });
});

describe("a job fails", { concurrency: 2 }, () => {
  test("with invalid_model_params if no ticker has the columns that the model's arguments name", async () => {
    const market = withPrices(cleanMarket(), ["AAPL"], onlyLast(20));
    const error = await failure(market, interacting([[0, 1], [99]]));
    assert.equal(error.code, "invalid_model_params");
    assert.match(error.message, /names column 99, but the ticker has 6 columns/);
    assert.deepEqual(
      error.data.failures?.map(({ code }) => code),
      ["insufficient_history", ...Array(4).fill("invalid_model_params")],
    );
  });

  test("with no_forecast and the reason if the feature blob ends early", async () => {
    const market = cleanMarket("2021-10-29");
    const early = market.featureDates.slice(0, -3);
    const features = new Map(
      [...market.features].map(([ticker, columns]) => [
        ticker,
        new Map([...columns].map(([name, cells]) => [name, cells.slice(0, -3)])),
      ]),
    );
    const error = await failure({ ...market, featureDates: early, features }, QUICK);
    assert.equal(error.code, "no_forecast");
    assert.match(error.message, /feature/);
    assert.ok(error.message.includes(early.at(-1)!), error.message);
  });
});

describe("a job reports", { concurrency: 2 }, () => {
  test("constant predictions, with the largest alpha that keeps a coefficient", async () => {
    const pair = await writeMarket(cleanMarket("2021-10-29"));
    const lasso = (alpha: number) =>
      `{"ML params": {"model": "lasso", "n_splits": 1, "model_params": {"alpha": ${alpha}}}}`;
    const constant = async (alpha: number) => {
      const { output } = await runJob(pair, lasso(alpha));
      return output.warnings.filter(({ code }) => code === "constant_predictions");
    };
    const told = await constant(1e6);
    assert.deepEqual(
      told.map(({ ticker }) => ticker),
      [...ALL].sort(),
    );
    const largest = Number(/alpha below ([\d.e+-]+\d)/.exec(told[0]!.message)![1]);
    // The solver stops a little early, so just below the bound it may not have found the coefficient.
    const [below, above] = [await constant(0.9 * largest), await constant(1.001 * largest)];
    assert.ok(
      !below.some(({ ticker }) => ticker === "AAPL") && above.some(({ ticker }) => ticker === "AAPL"),
    );
  });

  test("that threads are capped, and gives the numbers of one thread", async () => {
    const pair = await writeMarket(cleanMarket());
    const trees = (more: string) =>
      `{"ML params": {"model": "catboost", "n_splits": 1, "model_params": {"iterations": 4${more}}}}`;
    const [one, capped] = [await runJob(pair, trees("")), await runJob(pair, trees(', "thread_count": 4'))];
    assert.deepEqual(capped.output.forecasts, one.output.forecasts);
    assert.deepEqual(
      unjudged(capped.output.warnings).map(({ code }) => code),
      ["threads_capped"],
    );
    assert.deepEqual(unjudged(one.output.warnings), []);
  });

  test("how many fits of a ticker stopped before they converged", async () => {
    const config =
      '{"ML params": {"model": "lasso", "n_splits": 2, "model_params": {"alpha": 1e-9, "max_iter": 1}}}';
    const { output } = await runJob(await writeMarket(cleanMarket()), config);
    const told = output.warnings.filter(({ code }) => code === "not_converged");
    assert.deepEqual(
      told.map(({ ticker, count }) => [ticker, count]),
      [...ALL].sort().map((ticker) => [ticker, 3]),
    );
  });

  test("a forest's max_features 1 and 1.0 as different", async () => {
    const pair = await writeMarket(cleanMarket());
    const forest = (features: string) =>
      `{"ML params": {"model": "rf", "n_splits": 1, "model_params": {"n_estimators": 4, "max_features": ${features}}}}`;
    const [one, all] = [await runJob(pair, forest("1")), await runJob(pair, forest("1.0"))];
    assert.notDeepEqual(one.output.mu, all.output.mu);
    assert.match(all.text, /"max_features":1\.0[,}]/);
    assert.match(one.text, /"max_features":1[,}]/);
  });
});
