import { MIN_ORDER_TICKERS } from "../contract/output/later-close.ts";
import { dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";
import { deviation, isConstant, mean } from "./statistics.ts";

/** The forecasts of one ticker that no model made in sample: held-out rows, then score rows, ascending by date. */
export interface ForecastStream {
  readonly days: Int32Array;
  /** Shape (n): log-return. */
  readonly predicted: Float64Array;
  /** Shape (n): the level of its date that each forecast starts from, log-return. */
  readonly levels: Float64Array;
}

/** A z this many half-lives old weighs 1/256 of today's. */
const MAX_HALF_LIVES = 8;

/**
 * Forecasts whose order changes slowly. Each is its level plus the deviation u of its date times an exponential mean of the ticker's z, where
 * z = (p - m) / u, and m and u are the mean and the deviation (ddof 0) of a date's forecasts above their levels. The mean covers the dates of
 * the stream up to its own, at most 8 half-lives back, on which the ticker has a z; a z weighs half as much `halfLife` dates later. A date has
 * no z if its forecasts are all equal, or if it has forecasts of fewer than MIN_ORDER_TICKERS tickers: those stay as they are.
 * @param streams one per ticker, in the order of every sum. @param halfLife in dates; 0 changes nothing.
 */
export function smoothForecasts(
  streams: readonly ForecastStream[],
  halfLife: number,
): { readonly smoothed: readonly Float64Array[]; readonly thinDates: number } {
  if (halfLife === 0) return { smoothed: streams.map(({ predicted }) => predicted), thinDates: 0 };
  const layout = dateLayout(streams);
  const { first, starts, places } = layout;
  const above = streams.map(({ predicted, levels }) => predicted.map((value, i) => value - levels[i]!));
  const z = valuesByDate(layout, above);
  /** By calendar day: the number of dates of the stream before it, and the deviation of its forecasts, NaN for too few. */
  const numbers = new Int32Array(starts.length);
  const deviations = new Float64Array(starts.length).fill(Number.NaN);
  let [dates, thinDates] = [0, 0];
  for (const { day, from, to } of datesWith(layout)) {
    numbers[day - first] = dates++;
    const own = z.subarray(from, to);
    const [centre, spread] = [mean(own), isConstant(own) ? 0 : deviation(own)];
    if (to - from < MIN_ORDER_TICKERS) thinDates++;
    else deviations[day - first] = spread;
    const hasScores = to - from >= MIN_ORDER_TICKERS && spread > 0;
    for (let i = 0; i < own.length; i++) own[i] = hasScores ? (own[i]! - centre) / spread : Number.NaN;
  }
  const reach = Math.ceil(MAX_HALF_LIVES * halfLife);
  const weights = Float64Array.from({ length: reach + 1 }, (_, steps) => 2 ** (-steps / halfLife));
  let row = 0;
  const smoothed = streams.map(({ days, predicted, levels }) => {
    const scores = predicted.map(() => z[places[row++]!]!);
    const dateNumbers = days.map((day) => numbers[day - first]!);
    return predicted.map((value, i) => {
      const u = deviations[days[i]! - first]!;
      if (Number.isNaN(u)) return value;
      let [sum, total] = [0, 0];
      for (let j = i; j >= 0 && dateNumbers[i]! - dateNumbers[j]! <= reach; j--) {
        if (Number.isNaN(scores[j]!)) continue;
        const weight = weights[dateNumbers[i]! - dateNumbers[j]!]!;
        sum += weight * scores[j]!;
        total += weight;
      }
      return total === 0 ? levels[i]! : levels[i]! + (u * sum) / total;
    });
  });
  return { smoothed, thinDates };
}
