import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";

const FIT_ROWS = 1_250;
const FEATURES = 26;
/** The number of features with the signal; each ticker's are its own. The others share this part with all tickers. */
const SIGNAL_FEATURES = 2;
const COMMON_SHARE = 0.3;
/** For standardised features, as in scikit-learn's Ridge. */
const RIDGE_ALPHA = 1;

/** Standardised features of one ticker and the inverse of its ridge's normal matrix: drawn once, because markets differ in returns. */
interface TickerFeatures {
  /** Shape (FIT_ROWS + dates, FEATURES), row by row. */
  readonly values: Float64Array;
  /** Shape (FEATURES, FEATURES). */
  readonly inverse: Float64Array;
}

/** @param dates to score, after the fit rows. */
export function marketFeatures(tickers: number, dates: number, seed: number): TickerFeatures[] {
  const random = seededRandom(seed);
  const rows = FIT_ROWS + dates;
  const common = Array.from({ length: FEATURES }, (_, k) => autoregressive(random, rows, persistence(k)));
  return Array.from({ length: tickers }, () => {
    const values = new Float64Array(rows * FEATURES);
    for (let k = 0; k < FEATURES; k++) {
      const own = autoregressive(random, rows, persistence(k));
      const share = k < SIGNAL_FEATURES ? 0 : COMMON_SHARE;
      for (let t = 0; t < rows; t++) {
        values[t * FEATURES + k] = Math.sqrt(share) * common[k]![t]! + Math.sqrt(1 - share) * own[t]!;
      }
    }
    standardise(values);
    return { values, inverse: inverseOf(normalMatrix(values)) };
  });
}

/** From returns of one day to slow averages. The features with the signal do not depend on the previous day. */
function persistence(feature: number): number {
  return feature < SIGNAL_FEATURES ? 0 : (0.98 * (feature - SIGNAL_FEATURES)) / (FEATURES - SIGNAL_FEATURES);
}

/** Unit variance. */
function autoregressive(random: Random, count: number, rho: number): Float64Array {
  let last = random.normal();
  return Float64Array.from({ length: count }, () => {
    last = rho * last + Math.sqrt(1 - rho ** 2) * random.normal();
    return last;
  });
}

/** By the fit rows alone. */
function standardise(values: Float64Array): void {
  for (let k = 0; k < FEATURES; k++) {
    const column = Float64Array.from({ length: FIT_ROWS }, (_, t) => values[t * FEATURES + k]!);
    const centre = mean(column);
    const deviation = Math.sqrt(mean(column.map((value) => (value - centre) ** 2)));
    for (let i = k; i < values.length; i += FEATURES) values[i] = (values[i]! - centre) / deviation;
  }
}

function normalMatrix(values: Float64Array): Float64Array {
  const matrix = new Float64Array(FEATURES ** 2);
  for (let t = 0; t < FIT_ROWS; t++) {
    for (let a = 0; a < FEATURES; a++) {
      for (let b = 0; b < FEATURES; b++) {
        matrix[a * FEATURES + b]! += values[t * FEATURES + a]! * values[t * FEATURES + b]!;
      }
    }
  }
  for (let a = 0; a < FEATURES; a++) matrix[a * FEATURES + a]! += RIDGE_ALPHA;
  return matrix;
}

/** Gauss-Jordan without pivots: the matrix is positive definite. */
function inverseOf(matrix: Float64Array): Float64Array {
  const [left, right] = [matrix.slice(), new Float64Array(matrix.length)];
  for (let a = 0; a < FEATURES; a++) right[a * FEATURES + a] = 1;
  for (let pivot = 0; pivot < FEATURES; pivot++) {
    const scale = 1 / left[pivot * FEATURES + pivot]!;
    for (let b = 0; b < FEATURES; b++) {
      left[pivot * FEATURES + b]! *= scale;
      right[pivot * FEATURES + b]! *= scale;
    }
    for (let a = 0; a < FEATURES; a++) {
      const factor = left[a * FEATURES + pivot]!;
      if (a === pivot || factor === 0) continue;
      for (let b = 0; b < FEATURES; b++) {
        left[a * FEATURES + b]! -= factor * left[pivot * FEATURES + b]!;
        right[a * FEATURES + b]! -= factor * right[pivot * FEATURES + b]!;
      }
    }
  }
  return right;
}

/** The noise in returns: shape (tickers)(rows), unit variance in the long run. */
type Noise = (random: Random, tickers: number, rows: number) => Float64Array[];

/** Student's t with 4 degrees of freedom, unit variance. */
function fatTailed(random: Random): number {
  let squares = 0;
  for (let i = 0; i < 4; i++) squares += random.normal() ** 2;
  return random.normal() / Math.sqrt(squares / 4) / Math.SQRT2;
}

/** Volatility that clusters: GARCH(1,1) with the persistence of daily stocks. */
function garch(random: Random, rows: number): Float64Array {
  let variance = 1;
  let last = 0;
  return Float64Array.from({ length: rows }, () => {
    variance = 0.03 + 0.08 * last ** 2 + 0.89 * variance;
    last = Math.sqrt(variance) * random.normal();
    return last;
  });
}

const each = (tickers: number, returns: () => Float64Array) => Array.from({ length: tickers }, returns);

export const NOISES = {
  "fat tails": (random, tickers, rows) =>
    each(tickers, () => Float64Array.from({ length: rows }, () => fatTailed(random))),
  GARCH: (random, tickers, rows) => each(tickers, () => garch(random, rows)),
  /** A different drift for each ticker: 0.03 deviations per day are 10 % per year at a volatility of 20 %. */
  drift: (random, tickers, rows) =>
    each(tickers, () => {
      const drift = 0.03 * (1 + 0.5 * random.normal());
      return Float64Array.from({ length: rows }, () => drift + random.normal());
    }),
  /** Calm and wild periods of a hundred days, the same for all. */
  regimes: (random, tickers, rows) => {
    let isWild = false;
    const sizes = Float64Array.from({ length: rows }, () => {
      if (random.uniform() < 0.01) isWild = !isWild;
      return isWild ? 1.3 : 0.55;
    });
    return each(tickers, () => sizes.map((size) => size * random.normal()));
  },
  /** Half of the variance is one common factor, whose volatility clusters. */
  "common factor": (random, tickers, rows) => {
    const factor = garch(random, rows);
    return each(tickers, () => factor.map((value) => Math.SQRT1_2 * (value + random.normal())));
  },
} as const satisfies Record<string, Noise>;

export type NoiseName = keyof typeof NOISES;

/**
 * Forecasts by a ridge per ticker, fitted on FIT_ROWS rows before the scored dates.
 * @param ic correlation of the returns with the best possible forecast.
 */
export function ridgeMarket(
  features: readonly TickerFeatures[],
  dates: number,
  { noise, ic, seed }: { readonly noise: NoiseName; readonly ic: number; readonly seed: number },
): ForecastRows[] {
  const random = seededRandom(seed);
  const rows = FIT_ROWS + dates;
  const days = Int32Array.from({ length: dates }, (_, d) => d);
  const draw: Noise = NOISES[noise];
  return draw(random, features.length, rows).map((unexplained, i) => {
    const { values, inverse } = features[i]!;
    const returns = unexplained.map((value, t) => {
      const at = t * FEATURES;
      const signal = (values[at]! + values[at + 1]!) * Math.SQRT1_2;
      return ic * signal + Math.sqrt(1 - ic ** 2) * value;
    });
    const learned = mean(returns.subarray(0, FIT_ROWS));
    const weights = ridgeWeights(values, inverse, returns, learned);
    const predicted = Float64Array.from(days, (d) => {
      const at = (FIT_ROWS + d) * FEATURES;
      let sum = learned;
      for (let k = 0; k < FEATURES; k++) sum += weights[k]! * values[at + k]!;
      return sum;
    });
    const realised = returns.slice(FIT_ROWS);
    return {
      ticker: `T${String(i).padStart(3, "0")}`,
      days,
      realised,
      predicted,
      trainingMean: realised.map(() => learned),
    };
  });
}

function ridgeWeights(
  values: Float64Array,
  inverse: Float64Array,
  returns: Float64Array,
  learned: number,
): Float64Array {
  const products = new Float64Array(FEATURES);
  for (let t = 0; t < FIT_ROWS; t++) {
    const surprise = returns[t]! - learned;
    for (let k = 0; k < FEATURES; k++) products[k]! += values[t * FEATURES + k]! * surprise;
  }
  return products.map((_, a) => {
    let sum = 0;
    for (let b = 0; b < FEATURES; b++) sum += inverse[a * FEATURES + b]! * products[b]!;
    return sum;
  });
}

/** The dates of a market from number `from` up to `to`. */
export function rowsBetween(rows: readonly ForecastRows[], from: number, to: number): ForecastRows[] {
  return rows.map(({ ticker, days, realised, predicted, trainingMean }) => ({
    ticker,
    days: days.subarray(from, to),
    realised: realised.subarray(from, to),
    predicted: predicted.subarray(from, to),
    trainingMean: trainingMean.subarray(from, to),
  }));
}

/** The first dates of a market. */
export function firstDates(rows: readonly ForecastRows[], dates: number): ForecastRows[] {
  return rowsBetween(rows, 0, dates);
}
