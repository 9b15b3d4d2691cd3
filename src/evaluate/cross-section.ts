import type { Day } from "../contract/market/dates.ts";
import type { CrossSection } from "../contract/output/metrics-schemas.ts";
import { neweyWestT } from "./mean-test.ts";
import { averageRanks } from "./rank.ts";
import { eachDate, type RowsByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, mean, sampleDeviation } from "./statistics.ts";

/** A correlation across fewer tickers is noise: two always correlate by 1 or -1. */
export const MIN_TICKERS = 3;

export type DateCorrelations = Readonly<{ ic: number; rankIc: number }>;

export type OnDate = (day: Day, correlations: DateCorrelations, tickers: number) => void;

/**
 * How well forecasts rank the tickers of a date, over the dates that count: those with at least MIN_TICKERS tickers whose forecasts and
 * labels differ. IC is the Pearson correlation of forecast and label across the tickers of a date, RankIC the same with ranks, ties
 * averaged (Spearman); std has ddof 1, ICIR = mean / std per date and not annualised, t = ICIR sqrt(dates), which treats the dates as
 * independent; the Newey-West t does not.
 *
 * @param rows labelled, with tickers in the order of the sums of a date.
 * @param onDate called with each date that counts, ascending, and its number of tickers.
 * @returns sums over dates in ascending order. Without a date all are null, with one date all but the means;
 *   ICIR and t even if the standard deviation is 0.
 */
export function crossSection(rows: RowsByDate, onDate: OnDate = () => undefined): CrossSection {
  const [ics, rankIcs]: [number[], number[]] = [[], []];
  let tickers = 0;
  for (const { day, predicted, realised } of eachDate(rows, MIN_TICKERS)) {
    if (isConstant(predicted)) continue;
    const ic = correlation(predicted, realised);
    const rankIc = ic === null ? null : correlation(averageRanks(predicted), averageRanks(realised));
    if (ic === null || rankIc === null) continue;
    tickers += predicted.length;
    onDate(day, { ic, rankIc }, predicted.length);
    ics.push(ic);
    rankIcs.push(rankIc);
  }
  const byDate = Float64Array.from(ics);
  const [ic, rankIc] = [overDates(byDate), overDates(Float64Array.from(rankIcs))];
  return {
    dates: ics.length,
    mean_tickers: finiteOrNull(tickers / ics.length),
    ic_mean: ic.mean,
    ic_std: ic.std,
    icir: ic.ratio,
    ic_t: ic.t,
    ic_t_newey_west: ic.t === null ? null : neweyWestT(byDate),
    rank_ic_mean: rankIc.mean,
    rank_ic_std: rankIc.std,
    rank_icir: rankIc.ratio,
    rank_ic_t: rankIc.t,
  };
}

/** Correlations closer together than this differ by rounding alone. Their deviation counts as 0, and nothing is divided by it. */
const ROUNDING_OF_A_CORRELATION = 1e-12;

function overDates(values: Float64Array) {
  const centre = finiteOrNull(mean(values));
  if (centre === null || values.length < 2) return { mean: centre, std: null, ratio: null, t: null };
  if (values.every((value) => Math.abs(value - values[0]!) <= ROUNDING_OF_A_CORRELATION))
    return { mean: centre, std: 0, ratio: null, t: null };
  const std = sampleDeviation(values);
  return { mean: centre, std, ratio: centre / std, t: (centre / std) * Math.sqrt(values.length) };
}
