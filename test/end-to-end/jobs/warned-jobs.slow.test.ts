/**
 * Warnings that a job gives once, with a list of tickers: a market that causes each and one that causes none. Their lists match the plain
 * twin's.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { type Cell, cleanMarket, type Market } from "../markets/market.ts";
import { FROZEN, networkConfig, runNetworkJob } from "../networks/network-jobs.ts";
import { assertSameAsTwin, plainResults } from "../twins/plain-twin.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "./job-runs.ts";

const CODES = [
  "warm_up_rows",
  "older_forecast",
  "not_daily",
  "few_rows",
  "unscaled_features",
  "chosen_early",
] as const;

const ROWS = 90;
const COPIES = 20;

/** Dates on every seventh day. */
const weeks = Array.from({ length: ROWS }, (_, row) =>
  new Date(Date.UTC(2021, 0, 4 + 7 * row)).toISOString().slice(0, 10),
);

/** Few rows of many features on weekly prices; JPM's end a week before the others, features of KO start later. */
function weeklyMarket(): Market {
  const { prices, features } = cleanMarket();
  const first = (values: readonly Cell[]) => values.slice(0, ROWS);
  const more = (values: readonly Cell[]) => Array.from({ length: COPIES }, () => first(values));
  return {
    bounds: { start: weeks[0]!, end: weeks.at(-1)!, Learning_end: weeks[ROWS - 5]! },
    priceDates: weeks,
    prices: new Map(
      [...prices].map(([ticker, values]) => [
        ticker,
        first(values).map((price, row) => (ticker === "JPM" && row === ROWS - 1 ? null : price)),
      ]),
    ),
    featureDates: weeks,
    features: new Map(
      [...features].map(([ticker, columns]) => {
        const own = [...columns].map(([name, values]) => {
          const waits = ticker === "KO" && name === "vol_20" ? 7 : 0;
          return [name, first(values).map((value, row) => (row < waits ? null : value))] as const;
        });
        // Scaled, since the order of equal coefficients is that of their rounding, which depends on the processor.
        const copies = more(columns.get("noise")!).map((values, i) => {
          const scaled = values.map((value) =>
            typeof value === "number" ? (1 + (i + 1) / 50) * value : value,
          );
          return [`copy_${i}`, scaled] as const;
        });
        return [ticker, new Map([...own, ...copies])];
      }),
    ),
  };
}

let weekly: BlobPair;
let clean: BlobPair;
before(async () => {
  [weekly, clean] = await Promise.all([writeMarket(weeklyMarket()), writeMarket(cleanMarket("2021-10-29"))]);
});
after(removeFolders);

/** The warnings that list tickers: code and number of tickers. */
function listed({ warnings }: OutputBlob) {
  const found = warnings.filter(({ code }) => CODES.some((one) => one === code));
  assert.ok(found.every(({ ticker }) => ticker === undefined));
  return Object.fromEntries(found.map(({ code, count }) => [code, count]));
}

const ridge = (params: object) =>
  JSON.stringify({ "ML params": { model: "ridge", n_splits: 3, cv_test_size: 5, ...params } });

test("a job with every fault of rows and features gives each warning once, as the twin does", async () => {
  const config = ridge({});
  const { output } = await runJob(weekly, config);
  const twins = await plainResults([{ blobs: weekly, configs: [config] }]);
  assertSameAsTwin(output, twins[0]![0]!, 1e-9);
  assert.deepEqual(listed(output), {
    warm_up_rows: 1,
    older_forecast: 1,
    not_daily: 5,
    few_rows: 5,
    unscaled_features: 5,
  });
  assert.equal(output.window.median_spacing_days, 7);
  assert.deepEqual(
    [output.mu_dates!.JPM, output.mu_dates!.KO, output.window.as_of],
    [weeks.at(-2), weeks.at(-1), weeks.at(-1)],
  );
});

test("a job on daily prices with enough rows and a scaler gives none of them", async () => {
  const { output } = await runJob(clean, ridge({ scaler: "standard" }));
  assert.deepEqual(listed(output), {});
  assert.equal(output.window.median_spacing_days, 1);
  assert.deepEqual(new Set(Object.values(output.mu_dates!)), new Set([output.window.as_of]));
});

test("lists networks whose first epoch was the best by name, and not those that learned", async () => {
  const alone = await runNetworkJob(weekly, networkConfig("mlp", { training: FROZEN }));
  assert.deepEqual(listed(alone.output), {
    warm_up_rows: 1,
    older_forecast: 1,
    not_daily: 5,
    few_rows: 5,
    chosen_early: 5,
  });
  const together = await runNetworkJob(clean, networkConfig("portfolio_lstm", { training: FROZEN }));
  assert.deepEqual(listed(together.output), { chosen_early: 1 });
  assert.match(
    together.output.warnings.find(({ code }) => code === "chosen_early")!.message,
    /for 1 network: portfolio\.$/,
  );
  const learned = await runNetworkJob(
    clean,
    networkConfig("mlp", { training: { epochs: 8, learning_rate: 0.002 } }),
  );
  const best = Object.values(learned.output.training!).map(({ best_epoch }) => best_epoch);
  assert.ok(best.some((epoch) => epoch > 1));
  assert.equal(listed(learned.output).chosen_early ?? 0, best.filter((epoch) => epoch === 1).length);
});
