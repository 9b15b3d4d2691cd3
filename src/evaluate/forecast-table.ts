import type { Day } from "../contract/market/dates.ts";
import type { CrossSection, Metrics } from "../contract/output/metrics-schemas.ts";
import { crossSection, type OnDate } from "./cross-section.ts";
import {
  asRanked,
  concatenate,
  type ForecastRows,
  inTickerOrder,
  labelled,
  sliceRows,
} from "./forecast-rows.ts";
import { sortedByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, median, rootMeanSquare } from "./statistics.ts";

/** One table of the output's `metrics`. A Map because a plain object would move tickers such as `10`. */
export interface ForecastTable {
  readonly pooled: Metrics;
  /** Every given ticker, ascending by code point, including those without a labelled row. */
  readonly by_ticker: ReadonlyMap<string, Metrics>;
  readonly cross_section: CrossSection;
  /** Median of the tickers' r2_zero values that exist, because one volatile ticker can decide the pooled value. */
  readonly r2_zero_median: number | null;
}

/** Rows for their tables: tickers ascending, only the rows with a label. @param rows tickers in any order. */
export function tableRows<T extends ForecastRows>(rows: readonly T[]): T[] {
  return inTickerOrder(rows).map(labelled);
}

/** The forecasts that a baseline makes of rows: shape (n). */
type BaselineForecast = (rows: ForecastRows) => Float64Array;

/**
 * Metrics per ticker, over all rows together, and across tickers date by date.
 * @param rows of `tableRows`. @param baseline whose forecasts are judged instead of those of the rows. @param onDate as in `crossSection`.
 */
export function forecastTable(
  rows: readonly ForecastRows[],
  baseline?: BaselineForecast,
  onDate?: OnDate,
): ForecastTable {
  const judged = baseline === undefined ? rows : rows.map((row) => ({ ...row, predicted: baseline(row) }));
  const all = (of: (row: ForecastRows) => Float64Array) => concatenate(judged.map(of));
  const by_ticker = new Map(judged.map((row) => [row.ticker, metrics(row)]));
  const skills = [...by_ticker.values()].flatMap(({ r2_zero }) => r2_zero ?? []);
  return {
    pooled: metrics({
      predicted: all((row) => row.predicted),
      realised: all((row) => row.realised),
      trainingMean: all((row) => row.trainingMean),
    }),
    by_ticker,
    cross_section: crossSection(sortedByDate(baseline ? judged : judged.map(asRanked)), onDate),
    r2_zero_median: median(Float64Array.from(skills)),
  };
}

/** Metrics of the labelled score rows of one block. */
interface BlockSkill {
  /** The last date with a score row, labelled or not; the first date of the block if it has none. */
  readonly end: Day;
  /** The number of tickers with a score row. */
  readonly tickers: number;
  readonly table: ForecastTable;
}

/**
 * The metrics of each block of dates.
 * @param rows tickers in any order, score rows ascending by date.
 * @param starts first dates of the blocks, ascending; rows before the first belong to none.
 */
export function blockSkills(rows: readonly ForecastRows[], starts: readonly Day[]): BlockSkill[] {
  return starts.map((start, b) => {
    const next = starts[b + 1] ?? Number.POSITIVE_INFINITY;
    const blocks = rows.flatMap((row) => {
      const from = row.days.findIndex((day) => day >= start);
      const to = row.days.findLastIndex((day) => day < next) + 1;
      return from < 0 || from >= to ? [] : [sliceRows(row, from, to)];
    });
    const end = blocks.reduce((latest, { days }) => Math.max(latest, days.at(-1)!), start);
    return { end, tickers: blocks.length, table: forecastTable(tableRows(blocks)) };
  });
}

/**
 * Metrics over the given rows, parallel arrays of shape (n); sums follow their order. Undefined metrics are null: everything for no rows, a
 * hit rate without a signed pair, an r2 whose benchmark makes no error, a correlation with a constant.
 * @param rows all labelled, each with its own training mean, so pooled rows keep their ticker's.
 */
export function metrics({
  predicted,
  realised,
  trainingMean,
}: Pick<ForecastRows, "predicted" | "realised" | "trainingMean">): Metrics {
  const n = realised.length;
  const signs = signAgreement(realised, predicted);
  if (n === 0) return { n, rmse: null, mae: null, ...signs, r2_zero: null, r2_mean: null, correlation: null };
  const errors = realised.map((y, i) => y - predicted[i]!);
  const rmse = rootMeanSquare(errors);
  return {
    n,
    rmse: finiteOrNull(rmse),
    mae: finiteOrNull(errors.reduce((sum, error) => sum + Math.abs(error), 0) / n),
    ...signs,
    r2_zero: skill(rmse, rootMeanSquare(realised)),
    r2_mean: skill(rmse, rootMeanSquare(realised.map((y, i) => y - trainingMean[i]!))),
    correlation: isConstant(predicted) ? null : correlation(realised, predicted),
  };
}

/** An R² below this is the rounding of its two sums: forecasts equal to the benchmark have 0. */
const ROUNDING = 1e-12;

/** 1 - SSE / SSE of the benchmark; null if the benchmark makes no error, which would divide by 0. */
function skill(rmse: number, benchmarkRmse: number): number | null {
  const r2 = 1 - (rmse / benchmarkRmse) ** 2;
  return Math.abs(r2) < ROUNDING ? 0 : finiteOrNull(r2);
}

/** Over the rows in which neither side is 0; null without such a row. */
function signAgreement(
  realised: Float64Array,
  predicted: Float64Array,
): Pick<Metrics, "hit_rate" | "up_share" | "hit_rate_se"> {
  let [signed, hits, ups] = [0, 0, 0];
  for (const [i, y] of realised.entries()) {
    const p = predicted[i]!;
    if (y === 0 || p === 0) continue;
    signed++;
    if (y > 0) ups++;
    if (y > 0 === p > 0) hits++;
  }
  if (signed === 0) return { hit_rate: null, up_share: null, hit_rate_se: null };
  const rate = hits / signed;
  return { hit_rate: rate, up_share: ups / signed, hit_rate_se: Math.sqrt((rate * (1 - rate)) / signed) };
}
