/**
 * Features of one ticker from its own closing prices P_0 .. P_n-1, all positive, one for each of its price dates.
 * Each function returns shape (n): entry i is known at the close of date i, uses only P_j with j <= i, and is NaN
 * if its window is not full. Returns are r_i = ln(P_i / P_i-1), since the ticker's own last price date.
 */
export type PriceFeature = (prices: Float64Array) => Float64Array;

/** Momentum: ln(P_i / P_i-h). Jegadeesh and Titman (1993), here over days. */
export function momentum(horizon: number): PriceFeature {
  return (prices) =>
    prices.map((price, i) => (i < horizon ? Number.NaN : Math.log(price / prices[i - horizon]!)));
}

/** Volatility: standard deviation (ddof 1) of the last w returns, not annualised. */
export function volatility(length: number): PriceFeature {
  return (prices) => rolling(returns(prices), length, deviation, 1);
}

/** Change of volatility: volatility(short) / volatility(long); 1 if the long one is 0. */
export function volatilityRatio(short: number, long: number): PriceFeature {
  return (prices) => {
    const below = volatility(long)(prices);
    return volatility(short)(prices).map((above, i) => (below[i] === 0 ? 1 : above / below[i]!));
  };
}

/**
 * Distance to the moving average: ln(P_i / mean of the last w prices). Brock, Lakonishok and LeBaron (1992) trade
 * on its sign.
 */
export function averageGap(length: number): PriceFeature {
  return (prices) => {
    const averages = rolling(prices, length, mean);
    return prices.map((price, i) => Math.log(price / averages[i]!));
  };
}

/**
 * Relative strength index, 0 to 100: 100 U / (U + D), U and D the sums of the last w price rises and falls; 50
 * if the price did not move. Wilder (1978) with plain means in place of his smoothing (Cutler's form), so that
 * a value does not depend on where the history starts.
 */
export function relativeStrength(length: number): PriceFeature {
  return (prices) => {
    const changes = prices.map((price, i) => (i === 0 ? Number.NaN : price - prices[i - 1]!));
    return rolling(changes, length, strengthOf, 1);
  };
}

function strengthOf(changes: Float64Array, from: number, to: number): number {
  let rises = 0;
  let falls = 0;
  for (let i = from; i < to; i++) {
    if (changes[i]! > 0) rises += changes[i]!;
    else falls -= changes[i]!;
  }
  return rises + falls === 0 ? 50 : (100 * rises) / (rises + falls);
}

/** (P_i - mean) / standard deviation (ddof 1) of the last w prices, the z of Bollinger's bands; 0 if flat. */
export function zScore(length: number): PriceFeature {
  return (prices) => {
    const averages = rolling(prices, length, mean);
    const deviations = rolling(prices, length, deviation);
    return prices.map((price, i) => (deviations[i] === 0 ? 0 : (price - averages[i]!) / deviations[i]!));
  };
}

/** Distance to the high: ln(P_i / highest of the last w prices), at most 0. George and Hwang (2004). */
export function drawdown(length: number): PriceFeature {
  return (prices) => {
    const highs = rolling(prices, length, maximum);
    return prices.map((price, i) => Math.log(price / highs[i]!));
  };
}

/** Skewness of the last w returns, m3 / m2^1.5 of their central moments; 0 if they are all equal. */
export function skewness(length: number): PriceFeature {
  return (prices) => rolling(returns(prices), length, skewnessOf, 1);
}

function skewnessOf(values: Float64Array, from: number, to: number): number {
  const second = centralMoment(values, from, to, 2);
  return second === 0 ? 0 : centralMoment(values, from, to, 3) / (second * Math.sqrt(second));
}

/** The largest of the last w returns. Bali, Cakici and Whitelaw (2011), MAX. */
export function largestReturn(length: number): PriceFeature {
  return (prices) => rolling(returns(prices), length, maximum, 1);
}

/** Shape (n), in log-returns; the first is NaN. */
function returns(prices: Float64Array): Float64Array {
  return momentum(1)(prices);
}

/**
 * A measure of the last `length` values of a series, at each index.
 * @param first number of initial values that belong to no window (there is no return before the second price).
 * @returns shape (n): `measure(values, from, to)` of the half-open window that ends with index i; NaN before the first
 * full window. An entry depends on no value after its index, nor on one before its window.
 */
function rolling(
  values: Float64Array,
  length: number,
  measure: (values: Float64Array, from: number, to: number) => number,
  first = 0,
): Float64Array {
  const out = new Float64Array(values.length).fill(Number.NaN);
  for (let i = first + length - 1; i < values.length; i++) out[i] = measure(values, i - length + 1, i + 1);
  return out;
}

function mean(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i]!;
  return sum / (to - from);
}

/** Standard deviation with ddof 1; exactly 0 if all values are equal. */
function deviation(values: Float64Array, from: number, to: number): number {
  return Math.sqrt((centralMoment(values, from, to, 2) * (to - from)) / (to - from - 1));
}

/** Mean of the `power`-th powers of the distances from the mean; exactly 0 if all values are equal. */
function centralMoment(values: Float64Array, from: number, to: number, power: 2 | 3): number {
  if (maximum(values, from, to) === minimum(values, from, to)) return 0;
  const centre = mean(values, from, to);
  let sum = 0;
  for (let i = from; i < to; i++) {
    const distance = values[i]! - centre;
    sum += power === 2 ? distance * distance : distance * distance * distance;
  }
  return sum / (to - from);
}

function maximum(values: Float64Array, from: number, to: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) if (values[i]! > most) most = values[i]!;
  return most;
}

function minimum(values: Float64Array, from: number, to: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i < to; i++) if (values[i]! < least) least = values[i]!;
  return least;
}
