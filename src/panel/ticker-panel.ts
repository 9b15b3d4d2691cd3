import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import { suspiciousPrices } from "../contract/market/suspicious-prices.ts";
import {
  sparseGapDays,
  sparsePrices,
  type TickerFeatures,
  type TickerPrices,
} from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { labelPrices, NO_LABEL_DAY, priceSpacing, recentVolatility } from "./labels.ts";
import { priceDates } from "./price-dates.ts";
import type { RelativeTarget } from "./relative-target.ts";
import {
  columnsWithValues,
  completeRows,
  countBefore,
  gatherRowMajor,
  joinRows,
  rowWarnings,
} from "./rows.ts";
import type { ResolvedWindow } from "./window.ts";

/** A ticker with fewer fit rows fails; a first walk-forward fold trains on at least this many. */
export const MIN_FIT_ROWS = 30;

/** What a model may see of one ticker. Row i is market date `days[i]`: `x[i]` is known at that close, `y[i]` at that of `labelDays[i]`. */
export interface TickerPanel {
  readonly ticker: string;
  /** The k remaining features, in the order of the blob. */
  readonly columns: readonly string[];
  /** Shape (rows), ascending: every row with all features, labelled or not. */
  readonly days: Int32Array;
  /** Shape (rows, k), row-major, all finite. */
  readonly x: Float64Array;
  /** Shape (rows): log-return from the close `delay` price dates later to the next one, NaN if there is no label. */
  readonly y: Float64Array;
  /** Shape (rows): when the label is known, NO_LABEL_DAY if there is none. */
  readonly labelDays: Int32Array;
  /** Shape (rows): calendar days to the ticker's next price date, 0 on its last one. */
  readonly spacing: Int32Array;
  /** Shape (rows): standard deviation of the ticker's last 20 returns known at the date, NaN if there are fewer. */
  readonly volatility: Float64Array;
  /** Ascending indices of the fit rows: labels known by the cut. */
  readonly fit: Int32Array;
  /**
   * Ascending indices of the score rows: every row dated at or after the label date of the last fit row, labelled or not. With a delay, the
   * rows between are neither, because a forecast at their dates could not have known what the model learned. Later refits learn them.
   */
  readonly score: Int32Array;
  /** The ticker's last price date in the window. */
  readonly lastPriceDay: Day;
  /** The ticker's last feature date in the window; undefined if it has none. */
  readonly lastFeatureDay: Day | undefined;
  /** The last row before `cross_section` drops rows; absent without `cross_section`. */
  readonly lastRowDay?: Day;
  /** How many rows were dropped because they wait for the window of a feature, and the one that waits longest, the first if equal. */
  readonly warmUp: { readonly rows: number; readonly feature: string | undefined };
  readonly warnings: readonly Warning[];
  /** The number of last columns that are z-scores among the tickers of a date; absent without `cross_section`. */
  readonly zScores?: number;
  /** What models learn instead of `y`, with target `relative`. */
  readonly relative?: RelativeTarget;
  /**
   * For a late ticker, which has too few rows to learn from at the cut: the first date of the block that it joins. Its fit rows are those whose
   * label is known at that close. No model forecasts its rows dated before. Absent for all others.
   */
  readonly joins?: Day;
}

export type PanelRows = Omit<TickerPanel, "x">;

/** Shape (fit): the labels of the fit rows. */
export function fitLabels({ fit, y }: Pick<TickerPanel, "fit" | "y">): Float64Array {
  return Float64Array.from(fit, (row) => y[row]!);
}

/** Shape (rows): what a model learns from each row, NaN if nothing. */
export function targetsOf({ y, relative }: Pick<TickerPanel, "y" | "relative">): Float64Array {
  return relative === undefined ? y : relative.values;
}

/**
 * The return forecasts that follow from a model's predictions: level + width x prediction with target `relative`.
 * @param rows shape (n): rows of the panel; `predicted` shape (n).
 * @param known the model learned from the labels known at this close; all of them without it.
 */
export function forecastReturns(
  { relative }: Pick<TickerPanel, "relative">,
  rows: ArrayLike<number>,
  predicted: Float64Array,
  known?: Day,
): Float64Array {
  if (relative === undefined) return predicted;
  const level = levelKnownAt({ relative }, known);
  return predicted.map((value, i) => level + relative.widths[rows[i]!]! * value);
}

/** The level of such forecasts, log-return: 0 without target `relative`. */
export function levelKnownAt({ relative }: Pick<TickerPanel, "relative">, known?: Day): number {
  if (relative === undefined) return 0;
  return known === undefined ? relative.levels.final : relative.levels.knownAt(known);
}

export interface TickerInput {
  readonly ticker: string;
  readonly prices: TickerPrices;
  readonly features: TickerFeatures;
  readonly window: ResolvedWindow;
}

/**
 * Prices and features of one ticker become rows.
 *
 * A row is a candidate to learn from if its label is known by `window.cut`, whatever its own date. Only candidates decide which features are
 * empty, so that no later row affects it; each row decides by itself whether it is complete.
 *
 * @throws MucastError `insufficient_history`, with the counts of every step in `data.rows`, if fewer than MIN_FIT_ROWS fit rows remain;
 * `sparse_prices` if that is because prices are too far apart. Only this ticker fails.
 */
export function buildTickerPanel({ ticker, prices, features, window }: TickerInput): TickerPanel {
  const priced = priceDates(prices, window);
  const labels = labelPrices(priced.days, priced.prices, window.delay);
  const volatility = recentVolatility(labels.returns);
  const spacing = priceSpacing(priced.days);
  const joined = joinRows(priced.days, features.days);
  const isKnown = (labelDay: Day) => labelDay !== NO_LABEL_DAY && labelDay <= window.cut;
  const candidates = joined.feature.filter((_, r) => isKnown(labels.labelDays[joined.price[r]!]!));

  const kept = columnsWithValues(features, candidates);
  const { complete, warmUpRows, slowest, missingByColumn } = completeRows(features, kept, joined.feature);

  const rowPrice = complete.map((r) => joined.price[r]!);
  const labelDays = rowPrice.map((p) => labels.labelDays[p]!);
  const days = rowPrice.map((p) => priced.days[p]!);
  const rows = days.map((_, i) => i);
  const fit = rows.filter((i) => isKnown(labelDays[i]!));
  // The label of a date without a complete row counts too: models that learn from several tickers know theirs of that date.
  const learned = fit.length === 0 ? NO_LABEL_DAY : labels.labelDays.findLast(isKnown)!;
  const score = rows.subarray(countBefore(days, learned));
  const columns = kept.map((c) => features.columns[c]!);
  const counts: RowCounts = {
    priceDates: priced.days.length,
    nonpositivePrices: priced.nonpositive,
    longGaps: labels.longGaps,
    featureRows: joined.price.length,
    candidates: candidates.length,
    features: features.columns.length,
    emptyFeatures: features.columns.length - kept.length,
    rowsWithMissing: joined.price.length - complete.length,
    // Without a single feature there is nothing to learn from.
    fitRows: kept.length === 0 ? 0 : fit.length,
    scoreRows: score.length,
  };
  if (counts.fitRows < MIN_FIT_ROWS) throw tooShort(ticker, counts, priced.days, window);

  const { priceDates: dated, nonpositivePrices, longGaps, rowsWithMissing } = counts;
  const featureRows = complete.map((r) => joined.feature[r]!);
  return {
    ...{ ticker, columns, days, labelDays, fit, score },
    x: gatherRowMajor(features, kept, featureRows),
    y: Float64Array.from(rowPrice, (p) => labels.y[p]!),
    spacing: rowPrice.map((p) => spacing[p]!),
    volatility: Float64Array.from(rowPrice, (p) => volatility[p]!),
    lastPriceDay: priced.days.at(-1)!,
    lastFeatureDay: features.days.findLast((day) => day >= window.start && day <= window.end),
    warmUp: { rows: warmUpRows, feature: warmUpRows === 0 ? undefined : columns[slowest!] },
    warnings: rowWarnings({
      ...{ ticker, priceDates: dated, nonpositivePrices, longGaps, columns, missingByColumn },
      lacking: rowsWithMissing - warmUpRows,
      emptyNames: features.columns.filter((_, c) => !kept.includes(c)),
      largestGap: priced.days.subarray(labels.largestGap, labels.largestGap + 2),
      delay: window.delay ?? 0,
      suspicious: suspiciousPrices(priced.days, priced.prices),
    }),
  };
}

/**
 * How many rows each step of building a panel kept, and what it removed: `longGaps` are price dates without a label, `candidates` the feature
 * rows whose label is known by the cut, `emptyFeatures` have no value on these.
 */
type RowCounts = Readonly<
  Record<
    | ("priceDates" | "nonpositivePrices" | "longGaps" | "featureRows" | "candidates")
    | ("features" | "emptyFeatures" | "rowsWithMissing" | "fitRows" | "scoreRows"),
    number
  >
>;

/** A longer window would not help if most dates have no label. */
function tooShort(
  ticker: string,
  rows: RowCounts,
  priceDays: Int32Array,
  window: ResolvedWindow,
): MucastError {
  const gapDays = sparseGapDays(priceDays);
  if (gapDays === undefined) {
    const { nonpositivePrices, features, rowsWithMissing } = rows;
    const zero = nonpositivePrices === 0 ? "" : ` (${nonpositivePrices} without a price above zero)`;
    const message =
      `${ticker} has ${counted(rows.fitRows, "fit row")}, at least ${MIN_FIT_ROWS} are needed: ` +
      `${counted(rows.priceDates, "price date")}${zero}, ${rows.featureRows} of them with a feature row, ` +
      `${rows.candidates} with a label known by ${formatDay(window.cut)}; ` +
      `${features - rows.emptyFeatures} of ${counted(features, "feature")} have values there, ` +
      `${counted(rowsWithMissing, "row")} ${rowsWithMissing === 1 ? "lacks" : "lack"} at least one`;
    return new MucastError("insufficient_history", message, { ticker, rows });
  }
  const message = `${ticker} ${sparsePrices(gapDays)}: ${rows.longGaps} of ${counted(priceDays.length, "price date")} have no label`;
  return new MucastError("sparse_prices", message, { ticker, gap_days: gapDays, rows });
}
