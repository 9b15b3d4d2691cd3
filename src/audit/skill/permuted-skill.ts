import { MIN_TICKERS } from "../../evaluate/cross-section.ts";
import { type DatedForecasts, inTickerOrder } from "../../evaluate/forecast-rows.ts";
import { correlation, mean } from "../../evaluate/statistics.ts";

/** The information coefficient of forecasts, and its rank among those that chance gives them. */
export interface PermutedSkill {
  /** Mean over dates of the correlation of forecast and label across tickers. */
  readonly icMean: number;
  readonly dates: number;
  /** 1 if no permutation of the labels gave as high a mean. */
  readonly rank: number;
  readonly permutations: number;
  /** rank / (permutations + 1): a chance forecast gets p or less in a share p of all cases. */
  readonly p: number;
  /** The highest mean of a permutation. */
  readonly highestPermuted: number;
}

/** Shape (tickers, dates), NaN if a ticker has no labelled forecast. */
interface ByDate {
  readonly dates: number;
  readonly predicted: readonly Float64Array[];
  readonly realised: readonly Float64Array[];
}

/**
 * Compares the forecasts with labels whose blocks of dates are permuted, in the same way for all tickers: common moves and volatility
 * clusters stay. The model is not fitted again.
 * @param rows labelled or not; those without a label do not count.
 * @returns undefined for fewer than MIN_BLOCKS blocks of dates, and if no date has MIN_TICKERS tickers.
 */
export function permutedSkill(
  rows: readonly DatedForecasts[],
  permutations: number,
): PermutedSkill | undefined {
  const byDate = onDates(rows);
  if (byDate.dates <= (MIN_BLOCKS - 1) * BLOCK_DATES) return undefined;
  const own = dateIcs(byDate, Int32Array.from(byDate.predicted[0]!.keys()));
  if (own.length === 0) return undefined;
  const icMean = mean(own);
  let rank = 1;
  let highest = -1;
  for (const order of blockPermutations(byDate.dates, permutations)) {
    const permuted = mean(dateIcs(byDate, order));
    // NaN if labels and forecasts met on no date, which is no evidence of skill.
    if (!(permuted < icMean)) rank++;
    if (permuted > highest) highest = permuted;
  }
  const p = rank / (permutations + 1);
  return { icMean, dates: own.length, rank, permutations, p, highestPermuted: highest };
}

/** Only the dates with a labelled forecast of some ticker. */
export function onDates(rows: readonly DatedForecasts[]): ByDate {
  const ordered = inTickerOrder(rows);
  const isLabelled = (row: DatedForecasts, i: number) => !Number.isNaN(row.realised[i]!);
  const days = new Set(ordered.flatMap((row) => [...row.days.filter((_, i) => isLabelled(row, i))]));
  const positions = new Map([...days].sort((a, b) => a - b).map((day, at) => [day, at]));
  const spread = (row: DatedForecasts, values: Float64Array) => {
    const out = new Float64Array(positions.size).fill(Number.NaN);
    for (const [i, day] of row.days.entries()) if (isLabelled(row, i)) out[positions.get(day)!] = values[i]!;
    return out;
  };
  return {
    dates: positions.size,
    predicted: ordered.map((row) => spread(row, row.predicted)),
    realised: ordered.map((row) => spread(row, row.realised)),
  };
}

/**
 * @param order shape (dates): for each date, the date that its labels come from. @returns the correlations of the dates that count.
 */
export function dateIcs({ dates, predicted, realised }: ByDate, order: Int32Array): Float64Array {
  const ics: number[] = [];
  const forecasts = new Float64Array(predicted.length);
  const labels = new Float64Array(predicted.length);
  for (let date = 0; date < dates; date++) {
    let n = 0;
    for (let t = 0; t < predicted.length; t++) {
      const forecast = predicted[t]![date]!;
      const label = realised[t]![order[date]!]!;
      if (Number.isNaN(forecast) || Number.isNaN(label)) continue;
      forecasts[n] = forecast;
      labels[n++] = label;
    }
    const ic = n < MIN_TICKERS ? null : correlation(forecasts.subarray(0, n), labels.subarray(0, n));
    if (ic !== null) ics.push(ic);
  }
  return Float64Array.from(ics);
}

/** Trading days of a block: returns within a month keep their order, their clusters and their tickers. */
export const BLOCK_DATES = 20;

/** Fewer blocks give too few orders. */
export const MIN_BLOCKS = 5;

const SEED = 42;

/**
 * Orders of n dates in which blocks of BLOCK_DATES successive dates are permuted; the last block may be shorter. The same n and count
 * give the same orders on every machine.
 * @returns `count` arrays of shape (n): for each date, the date that its labels come from.
 */
export function* blockPermutations(n: number, count: number): Generator<Int32Array> {
  const blocks = Math.ceil(n / BLOCK_DATES);
  const uniform = uniformNumbers(SEED);
  for (let k = 0; k < count; k++) {
    const order = shuffled(blocks, uniform);
    const dates = new Int32Array(n);
    let at = 0;
    for (const block of order) {
      const end = Math.min(n, (block + 1) * BLOCK_DATES);
      for (let date = block * BLOCK_DATES; date < end; date++) dates[at++] = date;
    }
    yield dates;
  }
}

/** `count` orders of n tickers; the same on every machine. */
export function* tickerPermutations(n: number, count: number): Generator<Int32Array> {
  const uniform = uniformNumbers(SEED);
  for (let k = 0; k < count; k++) yield shuffled(n, uniform);
}

/** Fisher and Yates. */
function shuffled(n: number, uniform: () => number): Int32Array {
  const order = Int32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1));
    const held = order[i]!;
    order[i] = order[j]!;
    order[j] = held;
  }
  return order;
}

/** Uniform in [0, 1): mulberry32 (Tommy Ettinger, public domain). */
function uniformNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
