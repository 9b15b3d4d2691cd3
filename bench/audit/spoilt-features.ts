/** Features with faults: shape (n) in, shape (n) out, with the prices of the same days. */
import { labelPrices } from "../../src/panel/labels.ts";

export type Spoil = (values: Float64Array, prices: Float64Array, days: Int32Array) => Float64Array;

export const aDayEarly: Spoil = (values) => shifted(values, 1);

export const nextPriceScaled: Spoil = (_, prices) => shifted(prices, 1).map((price) => 0.01 * price - 3);

export const laterReturn =
  (rows: number): Spoil =>
  (_, prices) =>
    shifted(logReturns(prices), rows);

export const nextSize: Spoil = (_, prices) => shifted(logReturns(prices), 1).map(Math.abs);

/** No value where the next return is among the worst 5 %. */
export const missingBeforeLosses: Spoil = (values, prices, days) => {
  const { y } = labelPrices(days, prices);
  const worst = y.filter(Number.isFinite).sort()[Math.floor(0.05 * y.length)]!;
  return values.map((value, i) => (y[i]! < worst ? Number.NaN : value));
};

export const centredPrices =
  (half: number): Spoil =>
  (_, prices) =>
    centredAverage(prices, half);

export const centredReturns =
  (half: number): Spoil =>
  (_, prices) =>
    centredAverage(logReturns(prices), half);

/** The feature itself, smoothed by its neighbours as far as there are any. */
export const smoothed =
  (half: number): Spoil =>
  (values) =>
    values.map((_, i) => {
      const near = values.subarray(Math.max(0, i - half), i + half + 1).filter(Number.isFinite);
      return near.length === 0 ? Number.NaN : near.reduce((sum, value) => sum + value, 0) / near.length;
    });

function shifted(values: Float64Array, by: number): Float64Array {
  return values.map((_, i) => values[i + by] ?? Number.NaN);
}

function logReturns(prices: Float64Array): Float64Array {
  return prices.map((price, i) => (i === 0 ? Number.NaN : Math.log(price / prices[i - 1]!)));
}

/** Mean of the values from `half` rows before to `half` after. */
function centredAverage(values: Float64Array, half: number): Float64Array {
  return values.map((_, i) => {
    let sum = 0;
    for (let j = i - half; j <= i + half; j++) sum += values[j] ?? Number.NaN;
    return sum / (2 * half + 1);
  });
}

export const zScores: Spoil = (values) => {
  const present = values.filter(Number.isFinite);
  const mean = present.reduce((sum, value) => sum + value, 0) / present.length;
  const variance = present.reduce((sum, value) => sum + (value - mean) ** 2, 0) / present.length;
  return values.map((value) => (value - mean) / Math.sqrt(variance));
};
