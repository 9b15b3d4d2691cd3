/** Features with faults: shape (n) in, shape (n) out, with the prices of the same days. */
import { labelPrices } from "../../src/panel/labels.ts";
import { seededRandom } from "../../test/twins/random.ts";

export type CorruptFeature = (values: Float64Array, prices: Float64Array, days: Int32Array) => Float64Array;

export const aDayEarly: CorruptFeature = (values) => shifted(values, 1);

export const nextPriceScaled: CorruptFeature = (_, prices) =>
  shifted(prices, 1).map((price) => 0.01 * price - 3);

export const laterReturn =
  (rows: number): CorruptFeature =>
  (_, prices) =>
    shifted(logReturns(prices), rows);

export const nextSize: CorruptFeature = (_, prices) => shifted(logReturns(prices), 1).map(Math.abs);

/** No value if the next return is among the worst 5 %. */
export const missingBeforeLosses: CorruptFeature = (values, prices, days) => {
  const { y } = labelPrices(days, prices);
  const worst = y.filter(Number.isFinite).sort()[Math.floor(0.05 * y.length)]!;
  return values.map((value, i) => (y[i]! < worst ? Number.NaN : value));
};

export const centredPrices =
  (half: number): CorruptFeature =>
  (_, prices) =>
    centredAverage(prices, half);

export const centredReturns =
  (half: number): CorruptFeature =>
  (_, prices) =>
    centredAverage(logReturns(prices), half);

/** The feature, smoothed with its existing neighbours. */
export const smoothed =
  (half: number): CorruptFeature =>
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

export const zScores: CorruptFeature = (values) => {
  const present = values.filter(Number.isFinite);
  const mean = present.reduce((sum, value) => sum + value, 0) / present.length;
  const variance = present.reduce((sum, value) => sum + (value - mean) ** 2, 0) / present.length;
  return values.map((value) => (value - mean) / Math.sqrt(variance));
};

/** The mean return of the whole calendar month, on each of its days. */
export const monthMean: CorruptFeature = (_, prices, days) =>
  ofPeriods(logReturns(prices), days.map(monthOf));

/** A figure of each period of 63 dates whose correlation with the period's mean return is about 0.7, known from its first date. */
export const quarterFigure: CorruptFeature = (values, prices, days) => {
  const quarters = days.map((_, i) => Math.floor(i / 63));
  const means = ofPeriods(logReturns(prices), quarters);
  const size = deviationOf(means);
  const random = seededRandom(values.length + Math.round(1_000 * prices.at(-1)!));
  const noise = Array.from({ length: quarters.at(-1)! + 1 }, () => random.normal());
  return means.map((mean, i) => mean / size + noise[quarters[i]!]!);
};

/** On a third of all dates, the same for all tickers, the value that was known a date later. */
export const restatedThird: CorruptFeature = (values, _, days) =>
  values.map((value, i) => (drawn(days[i]!) < 1 / 3 ? (values[i + 1] ?? Number.NaN) : value));

/** In a tenth of all weeks, the same for all tickers, each date has the value of the next one. */
export const tenthOfWeeksEarly: CorruptFeature = (values, _, days) =>
  values.map((value, i) => (drawn(weekOf(days[i]!)) < 0.1 ? (values[i + 1] ?? Number.NaN) : value));

/** No value if the next return is among the third with the smallest sizes. */
export const missingBeforeCalm: CorruptFeature = (values, prices, days) => {
  const sizes = labelPrices(days, prices).y.map(Math.abs);
  const calm = sizes.filter(Number.isFinite).sort()[Math.floor(sizes.length / 3)]!;
  return values.map((value, i) => (sizes[i]! < calm ? Number.NaN : value));
};

/** No value on the fifth of the ticker's dates whose next 21 returns have the smallest sums. */
export const missingBeforeDecline: CorruptFeature = (values, prices) => {
  const sums = prices.map((price, i) => Math.log(prices[Math.min(i + 21, prices.length - 1)]! / price));
  const low = sums.slice().sort()[Math.floor(sums.length / 5)]!;
  return values.map((value, i) => (sums[i]! < low ? Number.NaN : value));
};

export const minMax: CorruptFeature = (values) => {
  const present = values.filter(Number.isFinite);
  const [low, high] = [present.reduce((a, b) => Math.min(a, b)), present.reduce((a, b) => Math.max(a, b))];
  return values.map((value) => (value - low) / (high - low));
};

/** The deviation of the returns from `half` rows before to `half` after. */
export const centredVolatility =
  (half: number): CorruptFeature =>
  (_, prices) => {
    const returns = logReturns(prices);
    const squares = centredAverage(
      returns.map((value) => value * value),
      half,
    );
    return squares.map(Math.sqrt);
  };

/** A feature on the same dates whose correlation with the next return is `c`. It does not use the original values. */
export const correlatedWithNext =
  (c: number): CorruptFeature =>
  (values, prices) => {
    const next = shifted(logReturns(prices), 1);
    const size = deviationOf(next.filter(Number.isFinite));
    const random = seededRandom(values.length + Math.round(1_000 * prices.at(-1)!));
    return next.map((value) => (c * value) / size + Math.sqrt(1 - c * c) * random.normal());
  };

function ofPeriods(values: Float64Array, periods: Int32Array): Float64Array {
  const sums = new Map<number, { sum: number; n: number }>();
  for (const [i, period] of periods.entries()) {
    const { sum, n } = sums.get(period) ?? { sum: 0, n: 0 };
    if (Number.isFinite(values[i]!)) sums.set(period, { sum: sum + values[i]!, n: n + 1 });
  }
  return Float64Array.from(periods, (period) => {
    const { sum, n } = sums.get(period) ?? { sum: 0, n: 0 };
    return sum / n;
  });
}

function deviationOf(values: Float64Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

function monthOf(day: number): number {
  const date = new Date(86_400_000 * day);
  return 12 * date.getUTCFullYear() + date.getUTCMonth();
}

function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}

/** A number in [0, 1) that is the same for all tickers. */
function drawn(of: number): number {
  return seededRandom(of + 1).uniform();
}
