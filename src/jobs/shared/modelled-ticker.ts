import type { Day } from "../../contract/market/dates.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate, type HeldOutRows } from "../../evaluate/forecast-rows.ts";
import type { Levels } from "../../evaluate/levels.ts";
import { deviation } from "../../evaluate/statistics.ts";
import type { PanelDates } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import { fitSpans, latestSpan, medianSpan, pooledSpans } from "../../panel/labels.ts";
import { forecastReturns, levelKnownAt, type PanelRows } from "../../panel/ticker-panel.ts";
import type { Listed } from "./job-warnings.ts";

export interface ScoreRows extends Pick<HeldOutRows, "days" | "labelDays" | "predicted"> {
  /** Shape (n): log-return of one day, NaN if it is not known yet. */
  readonly labels: Float64Array;
  /** Shape (n): deviation of the last returns known at the date. */
  readonly volatility: Float64Array;
  /** What these forecasts start from. */
  readonly spans: Levels;
}

export interface ScoreModel {
  readonly block: number;
  /** Positions [from, to) in the score rows. */
  readonly from: number;
  readonly to: number;
  readonly fitRows: number;
  /** Their mean label, log-return; 0 without a row. */
  readonly labelMean: number;
  /** Whether the fit of the block failed, so that this is the model of an earlier block. */
  readonly isStandIn: boolean;
}

/** Rows that a model did not learn from, with what its forecasts start from. */
export interface HeldOutPart extends HeldOutRows {
  readonly spans: Levels;
}

export interface ModelledTicker {
  readonly ticker: string;
  readonly dates: PanelDates;
  /** For a late ticker, the first date of the block that it joins. */
  readonly joins?: Day;
  /** Shape (n): labels of all fit rows. */
  readonly fitLabels: Float64Array;
  /** The models' own forecasts by which they are judged: out of fold, or a network's calibration or else its validation part. */
  readonly heldOut: HeldOutPart;
  /** Those whose residuals make the intervals: out of fold, or a network's calibration part. */
  readonly residuals: HeldOutPart;
  /** The rows that test candidates of `choice`, in parts: out of fold, or a network's validation and calibration part. */
  readonly tested: readonly HeldOutPart[];
  /** The mean squared label of the rows that the first fold, or network, trains on; 0 without any. */
  readonly unit: number;
  readonly score: ScoreRows;
  /** The models that forecast the score rows, in time order. */
  readonly models: readonly ScoreModel[];
  /** For an ensemble, the standard deviation (ddof 1) of its members' forecasts of the last score row, log-return. */
  readonly spread?: number;
  readonly rows: RowFacts;
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
  /** run_ml_job: the folds, as positions in the fit rows, and the dates of these, shape (n). */
  readonly folds?: readonly Fold[];
  readonly fitDays?: Int32Array;
  /** With `importance`, for each group of features: the forecasts of the held-out rows with the group shuffled. */
  readonly permuted?: readonly Float64Array[];
  /** Importances of the fit on the fit rows, largest first; absent if its library has none. */
  readonly importances?: readonly Importance[];
  /** Importances of the last fit, with their deviations over the fits of all blocks. */
  readonly lastImportances?: readonly Importance[];
  /** run_dl_job. */
  readonly splits?: NonNullable<NonNullable<OutputBlob["fits"]>[string]["splits"]>;
}

/** The weight of a feature in a model, by its library's own measure. */
export interface Importance {
  readonly feature: string;
  readonly importance: number;
  /** Standard deviation (ddof 1) over the fits of all blocks; absent if one of them does not list the feature. */
  readonly spread?: number;
}

/** The median number of calendar days from the fit rows of all tickers to their next prices; null without a ticker. */
export function medianSpacing(tickers: readonly { readonly rows: RowFacts }[]): number | null {
  return medianSpan(pooledSpans(tickers.map(({ rows }) => rows.spans)));
}

export type RowFacts = ReturnType<typeof rowFacts>;

export function rowFacts(panel: PanelRows) {
  return {
    fitRows: panel.fit.length,
    features: panel.columns.length,
    spans: fitSpans(panel),
    /** The median of the last spans before mu's row, in calendar days. */
    latestSpan: latestSpan(panel),
    warmUp: panel.warmUp,
  };
}

/**
 * A ticker is judged by the calibration part if there is one, because the validation part chose the epochs.
 * @param validation the rows whose labels early stopping monitored. @param calibration empty without intervals. Both are empty for a late
 *   ticker.
 */
export function judgedBy(validation: HeldOutPart, calibration: HeldOutPart) {
  const heldOut = calibration.days.length > 0 ? calibration : validation;
  return { tested: [validation, calibration], heldOut, residuals: calibration };
}

/** Rows of a panel with the forecasts of one model. @param known the model learned from the labels known at this close; all without it. */
export function forecastRows(
  panel: PanelRows,
  rows: Int32Array,
  predictions: Float64Array,
  known: Day | undefined,
): ScoreRows {
  const { days, labelDays, y, volatility, relative } = panel;
  const [first] = rows;
  return {
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    labels: Float64Array.from(rows, (row) => y[row]!),
    volatility: Float64Array.from(rows, (row) => volatility[row]!),
    predicted: forecastReturns(panel, rows, predictions, known),
    spans:
      relative === undefined || first === undefined
        ? []
        : [{ from: days[first]!, level: levelKnownAt(panel, known) }],
  };
}

export function joinRows(parts: readonly ScoreRows[]): ScoreRows {
  const join = (key: "labels" | "volatility" | "predicted") => concatenate(parts.map((part) => part[key]));
  const joinDays = (key: "days" | "labelDays") => Int32Array.from(parts.flatMap((part) => [...part[key]]));
  return {
    days: joinDays("days"),
    labelDays: joinDays("labelDays"),
    labels: join("labels"),
    volatility: join("volatility"),
    predicted: join("predicted"),
    spans: parts.flatMap(({ spans }) => spans),
  };
}

/** @param labels of all fit rows of the ticker. */
export function heldOutPart(
  ticker: string,
  { labels: realised, volatility: _, ...rows }: ScoreRows,
  trainingMean: Float64Array,
  labels: Float64Array,
): HeldOutPart {
  return { ticker, ...rows, realised, trainingMean, labelDeviation: deviation(labels) };
}
