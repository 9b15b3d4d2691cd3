import type { Day } from "../contract/market/dates.ts";
import type { CrossSection } from "../contract/output/metrics-schemas.ts";
import { neweyWestT } from "./mean-test.ts";
import { averageRanks } from "./rank.ts";
import type { DateLabels, LabelsByDate } from "./rows-by-date.ts";
import {
  correlationOf,
  correlationSide,
  finiteOrNull,
  isConstant,
  mean,
  sampleDeviation,
} from "./statistics.ts";

/** IC and RankIC of one date. */
export interface DateCorrelations {
  readonly ic: number;
  readonly rankIc: number;
}

export type OnDate = (day: Day, correlations: DateCorrelations, tickers: number) => void;

/** @returns undefined if the forecasts of the date are all the same. */
function dateCorrelations(predicted: Float64Array, labels: DateLabels): DateCorrelations | undefined {
  if (isConstant(predicted)) return undefined;
  const ic = correlationOf(correlationSide(predicted), labels.side);
  if (ic === null) return undefined;
  const rankIc = correlationOf(correlationSide(averageRanks(predicted)), labels.rankSide);
  return rankIc === null ? undefined : { ic, rankIc };
}

/**
 * How well forecasts rank the tickers of a date, over the dates that count: those with at least MIN_TICKERS tickers whose forecasts and
 * labels differ. IC is the Pearson correlation of forecast and label across the tickers of a date, RankIC the same with ranks, ties
 * averaged (Spearman); std has ddof 1, ICIR = mean / std per date and not annualised, t = ICIR sqrt(dates), which treats the dates as
 * independent; the Newey-West t does not.
 *
 * @param predicted shape (n), laid out as the labels.
 * @param onDate called with each date that counts, ascending, and its number of tickers.
 * @returns sums over dates in ascending order. Without a date all are null, with one date all but the means;
 *   ICIR and t even if the standard deviation is 0.
 */
export function crossSection(
  labels: LabelsByDate,
  predicted: Float64Array,
  onDate: OnDate = () => undefined,
): CrossSection {
  const ics: number[] = [];
  const rankIcs: number[] = [];
  let tickers = 0;
  for (const date of labels.dates) {
    const found = dateCorrelations(predicted.subarray(date.from, date.to), date);
    if (found === undefined) continue;
    const held = date.to - date.from;
    tickers += held;
    onDate(date.day, found, held);
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

/** Correlations closer together than this differ by rounding alone. Their deviation counts as 0, and nothing is divided by it. */
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
