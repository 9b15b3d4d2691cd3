/** portfolio_lstm and portfolio_transformer: one network for all tickers, which absent tickers do not disturb. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { type JobRun, removeFolders, unjudged, writeMarket } from "../jobs/job-runs.ts";
import { type Cell, type Market, weekdays } from "../markets/market.ts";
import { smallMarket, TICKERS, withFeatures, without, withPrices } from "../markets/network-market.ts";
import { FROZEN, JOINT, networkConfig, runNetworkJob } from "./network-jobs.ts";

after(removeFolders);

const MARKET = smallMarket();
const DATES = weekdays(160);
const LAST = DATES.at(-1)!;

const jobOn = async (market: Market, config: string) => runNetworkJob(await writeMarket(market), config);

/** One ticker's forecasts by date. */
function predicted({ forecasts }: OutputBlob, ticker: string): Map<string, number> {
  const { dates, predicted } = forecasts[ticker]!;
  return new Map(dates.map((date, i) => [date, predicted[i]!]));
}

/** JPM is listed late and lacks prices on some dates before the cut. */
const ABSENT = new Set([...DATES.slice(0, 50), ...DATES.slice(133, 141)]);
const COMING_AND_GOING = withPrices(MARKET, "JPM", (cell, date) => (ABSENT.has(date) ? null : cell));
const OTHERS = TICKERS.filter((ticker) => ticker !== "JPM");

for (const option of JOINT) {
  // The weights stay those of the seed, with or without that ticker, apart from the level, the mean of all labels. Frozen weights have
  // nothing to decay; with a decay, portfolio_lstm forecasts with its first weights, whose forecasts are otherwise subtracted.
  const config = networkConfig(option, { training: { ...FROZEN, weight_decay: 1 } });
  let frozen: Promise<JobRun> | undefined;
  const there = async () => {
    frozen ??= jobOn(COMING_AND_GOING, config);
    return (await frozen).output;
  };

  test(`changing one ticker's features on the last date changes only the mu of every other ticker in ${option}`, async () => {
    const last = (cell: Cell, date: string) => (date === LAST ? 3 + Number(cell) * 2 : cell);
    const trained = networkConfig(option, { training: { epochs: 2 } });
    const [one, other] = [
      (await jobOn(COMING_AND_GOING, trained)).output,
      (await jobOn(withFeatures(COMING_AND_GOING, "JPM", last), trained)).output,
    ];
    assert.deepEqual(other.training, one.training);
    for (const ticker of OTHERS) {
      assert.notEqual(other.mu[ticker], one.mu[ticker], ticker);
      const [before, after] = [one.forecasts[ticker]!.predicted, other.forecasts[ticker]!.predicted];
      assert.deepEqual(after.slice(0, -1), before.slice(0, -1));
    }
  });

  test(`a ticker without a window affects the others in ${option} as if it did not exist, on that day only`, async () => {
    const [one, never] = [await there(), (await jobOn(without(MARKET, "JPM"), config)).output];
    assert.equal(one.training!.portfolio!.parameters, never.training!.portfolio!.parameters);
    for (const ticker of OTHERS) {
      const alone = predicted(never, ticker);
      const largest = Math.max(...[...alone.values()].map(Math.abs));
      const [absent, present]: [number[], number[]] = [[], []];
      for (const [date, value] of predicted(one, ticker)) {
        (ABSENT.has(date) ? absent : present).push((value - alone.get(date)!) / largest);
      }
      assert.equal(absent.length, 8);
      const ofLevel = absent[0]!;
      const apart = (changes: readonly number[]) =>
        Math.max(...changes.map((change) => Math.abs(change - ofLevel)));
      // The same sums in another shape are rounded differently.
      assert.ok(apart(absent) < 1e-5, `${ticker}: ${apart(absent)} apart without JPM`);
      assert.ok(apart(present) > 100 * apart(absent), `JPM moves ${ticker} where it is there`);
    }
    assert.deepEqual(
      one.forecasts.JPM!.dates.filter((date) => ABSENT.has(date)),
      [],
    );
  });
}

test("a feature that a ticker lacks counts as constant, with a warning", async () => {
  const config = networkConfig("portfolio_lstm", { training: { learning_rate: 0.05 } });
  const columns = [...MARKET.features.get("KO")!].filter(([name]) => name !== "level" && name !== "2");
  const lacking = { ...MARKET, features: new Map([...MARKET.features, ["KO", new Map(columns)]]) };
  const constant = withFeatures(MARKET, "KO", () => 17, ["level", "2"]);
  const [one, other] = [(await jobOn(constant, config)).output, (await jobOn(lacking, config)).output];
  const [nothing, told] = [unjudged(one.warnings), unjudged(other.warnings)];
  assert.deepEqual(nothing, []);
  assert.deepEqual(
    told.map(({ code, ticker, count }) => ({ code, ticker, count })),
    [{ code: "feature_absent", ticker: "KO", count: 2 }],
  );
  for (const name of [/level/, /\b2\b/]) assert.match(told[0]!.message, name);
  assert.deepEqual([other.mu, other.forecasts, other.training], [one.mu, one.forecasts, one.training]);
});
