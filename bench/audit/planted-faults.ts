import { labelPrices } from "../../src/panel/labels.ts";
import type { Market } from "./clean-markets.ts";

/** Where a fault is planted: one feature of one ticker. */
export interface Place {
  readonly ticker: string;
  readonly feature: string;
}

/** Shape (n) in, shape (n) out: a feature with a fault. */
type Spoil = (values: Float64Array, prices: Float64Array, days: Int32Array) => Float64Array;

/** Faults by name. The prices have the same days as the feature. */
export const FAULTS = {
  "dated a day early": (values) => shifted(values, 1),
  "centred moving average, 5 days": (_, prices) => centredAverage(prices, 2),
  "centred moving average, 21 days": (_, prices) => centredAverage(prices, 10),
  "centred mean of returns, 21 days": (_, prices) => centredAverage(logReturns(prices), 10),
  "whole-sample z-score": (values) => zScores(values),
  "next price, scaled": (_, prices) => shifted(prices, 1).map((price) => 0.01 * price - 3),
  "return 5 days later": (_, prices) => shifted(logReturns(prices), 5),
  "size of the next return": (_, prices) => shifted(logReturns(prices), 1).map(Math.abs),
  "missing before losses": (values, prices, days) => {
    const { y } = labelPrices(days, prices);
    const worst = y.filter(Number.isFinite).sort()[Math.floor(0.05 * y.length)]!;
    return values.map((value, i) => (y[i]! < worst ? Number.NaN : value));
  },
} as const satisfies Record<string, Spoil>;

export type FaultName = keyof typeof FAULTS;

/** The market with one feature of one ticker spoilt, all others as they were. */
export function plant(market: Market, fault: FaultName, { ticker, feature }: Place): Market {
  const spoil: Spoil = FAULTS[fault];
  const features = market.features.map((one, t) => {
    if (one.ticker !== ticker) return one;
    const n = one.days.length;
    const at = one.columns.indexOf(feature) * n;
    const values = one.values.slice();
    values.set(spoil(one.values.subarray(at, at + n), market.prices[t]!.prices, one.days), at);
    return { ...one, values };
  });
  return { ...market, features };
}

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

function zScores(values: Float64Array): Float64Array {
  const present = values.filter(Number.isFinite);
  const mean = present.reduce((sum, value) => sum + value, 0) / present.length;
  const variance = present.reduce((sum, value) => sum + (value - mean) ** 2, 0) / present.length;
  return values.map((value) => (value - mean) / Math.sqrt(variance));
}
