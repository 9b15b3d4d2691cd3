import { MAX_GAP_DAYS } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { eachDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { correlation, mean } from "../../evaluate/statistics.ts";
import { type Band, meanBand } from "./over-dates.ts";

/** How well forecasts order the returns of the following days. */
interface HorizonSkill {
  /** The number of days of the return. */
  readonly horizon: number;
  readonly dates: number;
  /** Mean over dates. */
  readonly ic: number;
  readonly band: Band | null;
}

/**
 * Returns over h days overlap, so neighbouring dates are nearly equal. Over fewer than 12 h dates, the error of a mean over dates does not
 * notice, and bands exclude the truth too often: from there on 7 % at most, simulated for 5 to 20 days.
 */
const DATES_PER_DAY = 12;

/**
 * The IC by horizon: on each date, the correlation across tickers of its forecasts with the sums of the labels of that row and the
 * ticker's next h - 1 rows. For one day it is the IC.
 * @param rows tickers in any order, labelled or not. A window counts if all its labels are known and none of its rows is more than
 * MAX_GAP_DAYS after the previous one.
 * @returns undefined if no date counts: a date needs MIN_ORDER_TICKERS tickers, and forecasts and returns that differ.
 */
export function horizonSkill(rows: readonly DatedForecasts[], horizon: number): HorizonSkill | undefined {
  const windows = rows.map((row) => windowed(row, horizon));
  const ics: number[] = [];
  for (const { predicted, realised } of eachDate(sortedByDate(windows))) {
    if (predicted.length < MIN_ORDER_TICKERS) continue;
    const ic = correlation(predicted, realised);
    if (ic !== null) ics.push(ic);
  }
  if (ics.length === 0) return undefined;
  const values = Float64Array.from(ics);
  const band = values.length >= DATES_PER_DAY * horizon ? meanBand(values) : null;
  return { horizon, dates: values.length, ic: mean(values), band };
}

/** The rows of a ticker with the return over `horizon` rows as label, without rows that lack one. */
function windowed({ ticker, days, predicted, realised }: DatedForecasts, horizon: number): DatedForecasts {
  const most = Math.max(0, days.length - horizon + 1);
  const kept = {
    days: new Int32Array(most),
    predicted: new Float64Array(most),
    realised: new Float64Array(most),
  };
  let n = 0;
  for (let i = 0; i < most; i++) {
    let sum = realised[i]!;
    for (let j = i + 1; j < i + horizon; j++) {
      sum += days[j]! - days[j - 1]! > MAX_GAP_DAYS ? Number.NaN : realised[j]!;
    }
    if (Number.isNaN(sum)) continue;
    kept.days[n] = days[i]!;
    kept.predicted[n] = predicted[i]!;
    kept.realised[n++] = sum;
  }
  return {
    ticker,
    days: kept.days.subarray(0, n),
    predicted: kept.predicted.subarray(0, n),
    realised: kept.realised.subarray(0, n),
  };
}
