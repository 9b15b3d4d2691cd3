import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";

/** A market in which no forecast has any skill. */
interface NullMarket {
  readonly seed: number;
  readonly tickers: number;
  readonly dates: number;
  readonly outputs: number;
  /** Correlation between the forecasts of two outputs. */
  readonly correlation: number;
  /** Share of a forecast's variance that all tickers have in common; 0 by default. */
  readonly together?: number;
}

/** Correlation of a forecast with that of the previous date. */
const PERSISTENCE = 0.9;
/** Deviation of forecasts, relative to that of returns. */
const FORECAST_SIZE = 0.2;

/**
 * Returns with a common factor whose volatility changes, fat tails, and betas from 0.5 to 1.5; forecasts of several outputs that share a
 * part, favour the same tickers for weeks, and are independent of returns.
 * @returns for each output the rows of each ticker, all labelled.
 */
export function nullMarket({
  seed,
  tickers,
  dates,
  outputs,
  correlation,
  together = 0,
}: NullMarket): ForecastRows[][] {
  const random = seededRandom(seed);
  const days = Int32Array.from({ length: dates }, (_, d) => 16_000 + d);
  const scale = volatility(random, dates);
  const factor = scale.map((size) => size * random.normal());
  const returns = Array.from({ length: tickers }, (_, t) => {
    const beta = 0.5 + t / tickers;
    return factor.map((common, d) => beta * common + 1.5 * scale[d]! * fatTailed(random));
  });
  const shared = Array.from({ length: tickers }, () => persistent(random, dates));
  return Array.from({ length: outputs }, () => {
    const common = persistent(random, dates);
    return returns.map((realised, t) => {
      const own = persistent(random, dates);
      const mixed = own.map((value, d) => mix(shared[t]![d]!, mix(common[d]!, value, together), correlation));
      const predicted = mixed.map((value) => 0.018 * FORECAST_SIZE * value);
      const trainingMean = new Float64Array(dates).fill(0.0002 * random.normal());
      return { ticker: `T${String(t).padStart(3, "0")}`, days, predicted, realised, trainingMean };
    });
  });
}

/** With variance 1, like both parts. @param share of the first one. */
function mix(first: number, second: number, share: number): number {
  return Math.sqrt(share) * first + Math.sqrt(1 - share) * second;
}

/** Daily, in a GARCH(1, 1) of a stock index. */
function volatility(random: Random, dates: number): Float64Array {
  let variance = 1e-4;
  return Float64Array.from({ length: dates }, () => {
    variance = 2e-6 + 0.08 * variance * random.normal() ** 2 + 0.9 * variance;
    return Math.sqrt(variance);
  });
}

function persistent(random: Random, dates: number): Float64Array {
  let last = random.normal();
  return Float64Array.from({ length: dates }, () => {
    last = PERSISTENCE * last + Math.sqrt(1 - PERSISTENCE ** 2) * random.normal();
    return last;
  });
}

/** Student's t with 5 degrees of freedom, of variance 1. */
function fatTailed(random: Random): number {
  let squares = 0;
  for (let i = 0; i < 5; i++) squares += random.normal() ** 2;
  return random.normal() / Math.sqrt(squares / 3);
}
