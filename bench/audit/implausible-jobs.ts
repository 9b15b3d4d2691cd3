/** How often `implausible_job` is found: for forecasts with a known IC, and for jobs that learn from a leak. */
import { isImplausible } from "../../src/audit/skill/skill-findings.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { orderFinding } from "../../src/evaluate/verdict/findings.ts";
import { labelPrices } from "../../src/panel/labels.ts";
import { seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";
import { FIRST_SEED, garchReturns, type Market, type MarketSize, weekdays } from "./clean-markets.ts";
import { foresightOf } from "./examined-market.ts";
import { signalMarket } from "./signal-markets.ts";

const TRUE_ICS = [0, 0.02, 0.05, 0.06, 0.08, 0.094, 0.12, 0.15];

/** The last one has too few tickers for an order across them. */
const SIZES: readonly MarketSize[] = [
  { tickers: 20, days: 250 },
  { tickers: 87, days: 100 },
  { tickers: 87, days: 250 },
  { tickers: 3, days: 1_000 },
];
const MARKETS = 200;

/** The market's share of a return's variance. */
const COMMON = 0.25;

export function implausibleJobs(): Table {
  const columns = SIZES.map(foundByIc);
  return {
    title: `forecasts with a known IC: how many of ${MARKETS} are an implausible_job`,
    header: ["true IC", ...SIZES.map(({ tickers, days }) => `${tickers} tickers, ${days} dates`)],
    rows: TRUE_ICS.map((ic, k) => [String(ic), ...columns.map((column) => `${column[k]} of ${MARKETS}`)]),
  };
}

function foundByIc(size: MarketSize): number[] {
  const found = TRUE_ICS.map(() => 0);
  for (let seed = 1; seed <= MARKETS; seed++) {
    for (const [k, rows] of forecastsOf(FIRST_SEED + seed, size).entries()) {
      if (isImplausible(orderFinding(rows, size.days))) found[k]!++;
    }
  }
  return found;
}

/**
 * For each true IC the forecasts of one market, whose returns have fat tails, clustered volatility and a common factor with a loading
 * between 0.5 and 1.5. The IC is with a ticker's own part of the return.
 */
function forecastsOf(seed: number, { tickers, days }: MarketSize): ForecastRows[][] {
  const random = seededRandom(seed);
  const factor = garchReturns(days, random);
  const dates = weekdays(days);
  const none = new Float64Array(days).fill(Number.NaN);
  const each = Array.from({ length: tickers }, (_, t) => {
    const loading = Math.sqrt(COMMON) * (0.5 + random.uniform());
    const own = garchReturns(days, random);
    const size = Math.sqrt(own.reduce((sum, value) => sum + value * value, 0) / days);
    const noise = own.map(() => random.normal());
    return TRUE_ICS.map((ic) => ({
      ticker: `S${t}`,
      days: dates,
      predicted: noise.map((value, i) => (ic * own[i]!) / size + Math.sqrt(1 - ic * ic) * value),
      realised: own.map((value, i) => loading * factor[i]! + Math.sqrt(1 - COMMON) * value),
      trainingMean: none,
    }));
  });
  return TRUE_ICS.map((_, k) => each.map((rows) => rows[k]!));
}

const LEAK = { ic: 0.15, persistence: 0 };
const LEAK_SIZE = { tickers: 87, days: 500 };
const LEAK_MARKETS = 20;
const LEARNING_SHARE = 0.8;

/**
 * Whether foresight detects a leak in one of 17 features of every ticker, and whether the skill check detects a job that learns from it.
 */
export function leaksAndJobs(): Table {
  const found = { foresight: 0, job: 0, either: 0 };
  let [figures, ts] = [0, 0];
  for (let seed = 1; seed <= LEAK_MARKETS; seed++) {
    const market = signalMarket(FIRST_SEED + 9_000 + seed, LEAK_SIZE, LEAK);
    const isSeen = foresightOf(market).findings.some(({ feature }) => feature === "f0");
    const rows = learned(market);
    const order = orderFinding(rows, rows[0]!.days.length);
    const isJobSeen = isImplausible(order);
    figures += order.figure! / LEAK_MARKETS;
    ts += order.t! / LEAK_MARKETS;
    if (isSeen) found.foresight++;
    if (isJobSeen) found.job++;
    if (isSeen || isJobSeen) found.either++;
  }
  return {
    title: `one of 17 features of ${LEAK_SIZE.tickers} tickers correlates ${LEAK.ic} with the next return, ${LEAK_SIZE.days} dates; a linear job on the last fifth has a mean IC of ${figures.toFixed(3)}, t ${ts.toFixed(1)}`,
    header: ["found by", "markets"],
    rows: Object.entries(found).map(([by, n]) => [by, `${n} of ${LEAK_MARKETS}`]),
  };
}

/** Forecasts of the last dates by the feature's covariances with the next return on earlier dates. */
function learned({ prices, features }: Market): ForecastRows[] {
  const labels = prices.map(({ days, prices: own }) => labelPrices(days, own).y);
  const n = LEAK_SIZE.days;
  const cut = Math.floor(LEARNING_SHARE * n);
  const columns = features[0]!.columns.length;
  // Features are independent with variance 1, so a covariance is a coefficient.
  const slopes = Array.from({ length: columns }, (_, j) => {
    let sum = 0;
    for (const [t, { values }] of features.entries()) {
      for (let i = 0; i < cut; i++) sum += values[j * n + i]! * labels[t]![i]!;
    }
    return sum / cut / features.length;
  });
  return features.map(({ ticker, days, values }, t) => ({
    ticker,
    days: days.subarray(cut, n - 1),
    predicted: Float64Array.from({ length: n - 1 - cut }, (_, i) =>
      slopes.reduce((sum, slope, j) => sum + slope * values[j * n + cut + i]!, 0),
    ),
    realised: labels[t]!.subarray(cut, n - 1),
    trainingMean: new Float64Array(n - 1 - cut).fill(Number.NaN),
  }));
}
