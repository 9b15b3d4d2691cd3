import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import type { CrossSection } from "../contract/output/output-blob.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import { neweyWestT } from "./newey-west.ts";
import { averageRanks } from "./rank.ts";
import { eachDate, sortedByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, mean, sampleDeviation } from "./statistics.ts";

/** A correlation across fewer tickers is noise: two always correlate by 1 or -1. */
export const LEAST_TICKERS = 3;

/** IC and RankIC of one date, or undefined where the date does not count. */
export interface DateCorrelations {
  readonly ic: number;
  readonly rankIc: number;
}

export type OnDate = (day: Day, correlations: DateCorrelations, tickers: number) => void;

/** @returns undefined with fewer than LEAST_TICKERS tickers, or where predictions or labels are all the same. */
export function dateCorrelations(
  predicted: Float64Array,
  realised: Float64Array,
): DateCorrelations | undefined {
  if (predicted.length < LEAST_TICKERS) return undefined;
  const ic = correlation(predicted, realised);
  if (ic === null) return undefined;
  // Ranks are constant exactly where the values are, so IC and RankIC cover the same dates.
  const rankIc = correlation(averageRanks(predicted), averageRanks(realised));
  return rankIc === null ? undefined : { ic, rankIc };
}

/**
 * How well forecasts order the tickers of a date, over the dates that count. IC is the Pearson correlation of
 * forecast and label across the tickers of a date, RankIC the same with ranks, ties averaged (Spearman); std has
 * ddof 1, ICIR = mean / std per date and not annualised, t = ICIR sqrt(dates), which takes the dates for independent; the t
 * of Newey and West does not.
 *
 * @param rows labelled rows, tickers in the order in which the sums of a date run.
 * @param onDate called with each date that counts, ascending, and how many tickers it has.
 * @returns sums over dates in ascending order. Without a date all are null, with one date all but the means;
 *   ICIR and t also where the standard deviation is 0.
 */
export function* crossSection(
  rows: readonly DatedForecasts[],
  onDate: OnDate = () => undefined,
): Pausable<CrossSection> {
  const ics: number[] = [];
  const rankIcs: number[] = [];
  let tickers = 0;
  for (const { day, predicted, realised } of eachDate(yield* sortedByDate(rows))) {
    yield 0;
    const found = dateCorrelations(predicted, realised);
    if (found === undefined) continue;
    tickers += predicted.length;
    onDate(day, found, predicted.length);
    ics.push(found.ic);
    rankIcs.push(found.rankIc);
  }
  const byDate = Float64Array.from(ics);
  const ic = overDates(byDate);
  const rankIc = overDates(Float64Array.from(rankIcs));
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

/** Correlations closer together than this differ by rounding alone; their deviation counts as 0, by which nothing is divided. */
const ROUNDING_OF_A_CORRELATION = 1e-12;

function overDates(values: Float64Array): {
  mean: number | null;
  std: number | null;
  ratio: number | null;
  t: number | null;
} {
  const centre = finiteOrNull(mean(values));
  if (centre === null || values.length < 2) return { mean: centre, std: null, ratio: null, t: null };
  const deviations = values.map((value) => Math.abs(value - values[0]!));
  if (deviations.every((deviation) => deviation <= ROUNDING_OF_A_CORRELATION)) {
    return { mean: centre, std: 0, ratio: null, t: null };
  }
  const std = sampleDeviation(values);
  return { mean: centre, std, ratio: centre / std, t: (centre / std) * Math.sqrt(values.length) };
}
