import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { weekdays } from "../../../test/end-to-end/markets/market.ts";
import { seededRandom } from "../../../test/twins/random.ts";
import type { CheckResult, Finding } from "../check.ts";
import { checked } from "../checked.testing.ts";
import { restatement } from "./restatement.ts";

type Cell = number | null;

interface Market {
  readonly dates: readonly string[];
  prices: Record<string, Cell[]>;
  features: Record<string, Record<string, Cell[]>>;
}

const TICKERS = Array.from({ length: 20 }, (_, i) => `T${String(i).padStart(2, "0")}`);
/** Dates of the earlier day; today has more. */
const EARLIER = 300;
const TODAY = 310;

/** A market whose features depend only on the past. */
function cleanMarket(seed = 1, to = TODAY): Market {
  const market: Market = { dates: weekdays(to), prices: {}, features: {} };
  for (const [i, ticker] of TICKERS.entries()) {
    const random = seededRandom(1000 * seed + i);
    let price = 20 + 200 * random.uniform();
    const walk = Array.from({ length: TODAY }, () => (price *= Math.exp(0.0003 + 0.015 * random.normal())));
    const prices = walk.slice(0, to);
    market.prices[ticker] = prices;
    // Earnings come on every 60th date and stay until the next; there are none before the first.
    const figures = Array.from({ length: 6 }, () => random.normal());
    const earnings = Array.from({ length: TODAY }, (_, t) => figures[Math.floor((t - 25) / 60)] ?? null);
    market.features[ticker] = { ...priceFeatures(prices), earnings: earnings.slice(0, to) };
  }
  return market;
}

/** Features that need a full window: `mean_20` is a level, the other two are ratios. */
function priceFeatures(prices: readonly number[]): Record<string, Cell[]> {
  const last20 = (t: number) => mean(prices.slice(t - 19, t + 1));
  return {
    mom_5: prices.map((price, t) => (t < 5 ? null : Math.log(price / prices[t - 5]!))),
    to_mean_20: prices.map((price, t) => (t < 19 ? null : price / last20(t) - 1)),
    mean_20: prices.map((_, t) => (t < 19 ? null : last20(t))),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function mapped(cells: Cell[], change: (value: number, i: number) => number): Cell[] {
  return cells.map((value, i) => (value === null ? null : change(value, i)));
}

const folder = mkdtempSync(join(tmpdir(), "mucast-restatement-"));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, { dates, prices, features }: Market) {
  const [featureUrl, dataExtractorUrl] = [join(folder, `f-${name}.json`), join(folder, `p-${name}.json`)];
  writeFileSync(featureUrl, JSON.stringify({ dates, features }));
  writeFileSync(dataExtractorUrl, JSON.stringify({ dates, prices }));
  return { featureUrl, dataExtractorUrl };
}

function audit(previous: object | undefined, urls: { featureUrl: string; dataExtractorUrl: string }) {
  const request = { ...urls, config: '{"ML params": {"model": "ridge"}}', id: "audit" };
  return checked(restatement, { request, ...(previous === undefined ? {} : { previous }) });
}

type Plant = (earlier: Market, today: Market) => void;

/** Audits two days of a clean market after `plant` has changed the contents of the earlier day's and today's blobs. */
function planted(plant: Plant): Promise<CheckResult> {
  const [earlier, today] = [cleanMarket(1, EARLIER), cleanMarket()];
  plant(earlier, today);
  return audit(write("earlier", earlier), write("today", today));
}

function codes(findings: readonly Finding[]): string[] {
  return findings.map(({ code, feature, ticker }) => [code, feature, ticker].filter(Boolean).join(" "));
}

const inCents = (market: Market, exDate: number) => {
  const cents = (value: number, i: number) => Math.round(100 * (i < exDate ? 0.992 : 1) * value) / 100;
  market.prices.T02 = mapped(market.prices.T02!, cents);
};
const dividendOn =
  (exDate: number): Plant =>
  (earlier, today) => {
    inCents(earlier, 0);
    inCents(today, exDate);
  };

const CASES: Readonly<Record<string, readonly [plant: Plant, codes: readonly string[], isFound: boolean]>> = {
  "a split, features that are ratios and a level": [
    (_, { prices, features }) => {
      prices.T05 = mapped(prices.T05!, (value) => value / 4);
      Object.assign(features.T05!, priceFeatures(prices.T05 as number[]));
    },
    ["price_rescaled T05", "feature_rescaled mean_20 T05"],
    true,
  ],
  "a dividend in prices of two decimals": [dividendOn(150), ["price_rescaled T02"], false],
  "a dividend after its end": [dividendOn(EARLIER + 5), ["price_rescaled T02"], false],
  "prices that were filled": [
    ({ prices }) => prices.T04!.fill(null, 100, 103),
    ["price_back_filled T04"],
    true,
  ],
  "prices that only came late": [
    ({ prices }) => {
      for (const ticker of TICKERS.slice(0, 4)) prices[ticker]![EARLIER - 1] = null;
    },
    ["price_arrived_late"],
    false,
  ],
  "the last row of a ticker that came late": [
    ({ features }) => {
      for (const cells of Object.values(features.T04!)) cells[EARLIER - 1] = null;
    },
    ["feature_arrived_late T04"],
    false,
  ],
  "the last rows of one feature": [
    ({ features }) => features.T04!.earnings!.fill(null, EARLIER - 3, EARLIER),
    ["feature_back_filled earnings T04"],
    true,
  ],
  "the lost history of a ticker": [
    (_, { prices, features }) => {
      prices.T01!.fill(null, 0, 150);
      features.T01!.mom_5!.fill(null, 0, 150);
    },
    ["price_vanished T01", "feature_erased mom_5 T01"],
    true,
  ],
  "a new ticker": [
    ({ prices, features }) => {
      delete prices.T01;
      delete features.T01;
    },
    ["ticker_appeared T01", "ticker_appeared T01"],
    false,
  ],
  "a lost feature and a new one": [
    (earlier, today) => {
      for (const ticker of TICKERS) {
        delete earlier.features[ticker]!.mom_5;
        delete today.features[ticker]!.mean_20;
      }
    },
    ["feature_removed"],
    false,
  ],
  "another spelling of the same numbers, and another order of tickers and columns": [
    (earlier, today) => {
      for (const ticker of TICKERS) {
        const columns = Object.entries(today.features[ticker]!).reverse();
        const rounded = columns.map(([name, cells]) => [name, mapped(cells, Math.fround)]);
        today.features[ticker] = Object.fromEntries(rounded);
      }
      today.features = Object.fromEntries(Object.entries(today.features).reverse());
      earlier.features = Object.fromEntries(seededRandom(3).shuffled(Object.entries(earlier.features)));
    },
    [],
    false,
  ],
};

for (const [name, [plant, expected, isFound]] of Object.entries(CASES))
  test(`${name}: ${expected.join(", ") || "no finding"}`, async () => {
    const { status, findings } = await planted(plant);
    assert.deepEqual([codes(findings), status], [expected, isFound ? "found" : "clean"]);
  });

test("a restated week of one feature is found, with its dates and size", async () => {
  const { findings } = await planted((_, { dates, features }) => {
    for (const ticker of TICKERS)
      features[ticker]!.mom_5 = mapped(features[ticker]!.mom_5!, (value, i) =>
        i >= 200 && i < 205 ? value + (ticker === "T07" ? 0.005 : 0.001) : value,
      );
    assert.deepEqual([dates[200], dates[204]], ["2021-10-11", "2021-10-15"]);
  });
  assert.deepEqual(codes(findings), ["feature_rewritten mom_5"]);
  const { values, tickers, dates, first, last, reach_rows, largest } = findings[0]!.evidence;
  assert.deepEqual([values, tickers, dates, reach_rows], [100, 20, 5, 100]);
  assert.deepEqual([first, last], ["2021-10-11", "2021-10-15"]);
  const { ticker, absolute } = largest as { ticker: string; absolute: number };
  assert.ok(ticker === "T07" && Math.abs(absolute - 0.005) < 1e-12);
  assert.match(
    findings[0]!.message,
    /^mom_5: 100 values of 20 tickers on 5 dates from 2021-10-11 to 2021-10-15 /,
  );
});

test("gaps that moved in every feature are one finding, with the features and both kinds of change", async () => {
  const { findings } = await planted((earlier, today) => {
    for (const ticker of ["T02", "T07"]) {
      for (const cells of Object.values(earlier.features[ticker]!)) cells.fill(null, 100, 110);
      for (const cells of Object.values(today.features[ticker]!)) cells.fill(null, 150, 155);
    }
  });
  const names = Object.keys(cleanMarket().features.T02!);
  assert.deepEqual(codes(findings), ["feature_back_filled"]);
  const { message, evidence } = findings[0]!;
  assert.deepEqual([evidence.features, evidence.first_features], [names.length, names]);
  assert.equal((evidence.also as { feature_erased: { values: number } }).feature_erased.values, 10);
  assert.match(message, /missing and have numbers now, and 10 values .* are missing now$/);
});

test("a universe that dropped its losers is found in both blobs, with their losses", async () => {
  const { findings } = await planted((earlier, today) => {
    const past = (ticker: string) => earlier.prices[ticker]!.at(-1)! / earlier.prices[ticker]![0]!;
    for (const ticker of TICKERS.toSorted((a, b) => past(a) - past(b)).slice(0, 4)) {
      delete today.prices[ticker];
      delete today.features[ticker];
    }
  });
  assert.deepEqual(
    findings.map(({ code, evidence: { blob, tickers, of } }) => [code, blob, tickers, of]),
    [
      ["ticker_vanished", "data_extractor", 4, 20],
      ["ticker_vanished", "feature", 4, 20],
    ],
  );
  const { return_vanished, return_kept } = findings[0]!.evidence;
  assert.ok((return_vanished as number) < -0.2 && (return_kept as number) > 0);
});

test("without an earlier blob there is nothing to run, and a single earlier blob is compared", async () => {
  const today = write("today", cleanMarket());
  assert.equal((await audit({}, today)).status, "not_run");
  const { featureUrl } = write("earlier", cleanMarket(1, EARLIER));
  const { status, tests, facts } = await audit({ featureUrl }, today);
  // 20 tickers with 4 features.
  assert.deepEqual([status, tests, facts.data_extractor], ["clean", 80, null]);
  const { changed, rounded, warm_up, values } = facts.feature as Record<string, unknown>;
  assert.deepEqual([changed, rounded, warm_up, values], [0, 0, 0, 80 * EARLIER]);
});

test("swapped blobs are an error, not a clean audit", async () => {
  const [earlier, today] = [write("earlier", cleanMarket(1, EARLIER)), write("today", cleanMarket())];
  await assert.rejects(audit(today, earlier), {
    code: "invalid_data",
    message: /ends on 2022-03-11, after today's .* ends on 2022-02-25; were the two blobs swapped\?$/,
  });
});
