import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../contract/output/order-name.ts";
import { dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";
import { deviation, mean } from "./statistics.ts";

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
 * Forecasts whose order changes slowly: each is its level plus the deviation u of its date times an exponential mean of the ticker's z, where
 * z = (p - m) / u, and m and u are the mean and the deviation (ddof 0) of a date's forecasts above their levels. The mean covers the dates of
 * the stream up to its own, at most 8 half-lives back, on which the ticker has a z: weight 1/2 after `halfLife` dates. A date whose forecasts
 * are all equal has no z.
 * @param streams one per ticker, in the order of every sum.
 * @param halfLife in dates; 0 returns the forecasts themselves.
 * @returns shape (n) each.
 * @throws MucastError few_tickers for a date with forecasts of fewer than 5 tickers.
 */
export function smoothForecasts(streams: readonly ForecastStream[], halfLife: number): Float64Array[] {
  if (halfLife === 0) return streams.map(({ predicted }) => predicted);
  const layout = dateLayout(streams);
  const { first, starts } = layout;
  const above = valuesByDate(
    layout,
    streams.map(({ predicted, levels }) => predicted.map((value, i) => value - levels[i]!)),
  );
  /** By calendar day: the number of dates of the stream before it, and the deviation of its forecasts. */
  const numbers = new Int32Array(starts.length);
  const deviations = new Float64Array(starts.length);
  let dates = 0;
  for (const { day, from, to } of datesWith(layout)) {
    const own = above.subarray(from, to);
    if (own.length < MIN_ORDER_TICKERS) throw fewTickers(own.length, day);
    const [centre, spread] = [mean(own), deviation(own)];
    numbers[day - first] = dates++;
    deviations[day - first] = spread;
    for (let i = 0; i < own.length; i++) own[i] = spread === 0 ? Number.NaN : (own[i]! - centre) / spread;
  }
  const reach = Math.ceil(MAX_HALF_LIVES * halfLife);
  const weights = Float64Array.from({ length: reach + 1 }, (_, steps) => 2 ** (-steps / halfLife));
  let row = 0;
  return streams.map(({ days, levels }) => {
    const z = Float64Array.from(days, () => above[layout.places[row++]!]!);
    return levels.map((level, i) => {
      const today = numbers[days[i]! - first]!;
      let [sum, weight] = [0, 0];
      for (let j = i; j >= 0; j--) {
        const steps = today - numbers[days[j]! - first]!;
        if (steps > reach) break;
        if (Number.isNaN(z[j]!)) continue;
        sum += weights[steps]! * z[j]!;
        weight += weights[steps]!;
      }
      return weight === 0 ? level : level + (deviations[days[i]! - first]! * sum) / weight;
    });
  });
}

function fewTickers(tickers: number, day: number): MucastError {
  return new MucastError(
    "few_tickers",
    `smoothing needs the forecasts of at least ${MIN_ORDER_TICKERS} tickers on each date, and ${formatDay(day)} has ${tickers}; ` +
      "begin the window later, add tickers, or leave smoothing out",
  );
}
