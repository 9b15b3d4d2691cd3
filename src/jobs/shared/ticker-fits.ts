import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { deviation, mean } from "../../evaluate/statistics.ts";
import { fitSpans, latestSpan, medianSpan, type PriceSpans, pooledSpans } from "../../panel/labels.ts";
import type { PanelRows, WarmUp } from "../../panel/ticker-panel.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** The rows that a ticker's model was fitted on, and the weights of its features. */
export interface TickerFit {
  readonly ticker: string;
  readonly rows: RowFacts;
  /** Shape (n): labels of all fit rows. */
  readonly labels: Float64Array;
  /** For run_ml_job's final fit, largest first; absent if its library has none. */
  readonly importances?: readonly Importance[];
  readonly splits?: Splits;
}

/** The weight of a feature in a model, by its library's own measure. */
export interface Importance {
  readonly feature: string;
  readonly importance: number;
}

/** The first and the last date of a ticker's windows in each part; undefined if a part has none. */
export type Splits = Readonly<Record<"train" | "validate" | "calibrate", DateSpan | undefined>>;

export interface DateSpan {
  readonly start: Day;
  readonly end: Day;
}

type Fit = NonNullable<OutputBlob["fits"]>[string];

export function fitOf({ rows, labels, importances, splits }: TickerFit): OrderedJson {
  const counts = {
    fit_rows: rows.fitRows,
    features: rows.features,
    label_mean: mean(labels),
    label_deviation: deviation(labels),
  } satisfies Record<keyof Omit<Fit, "importances" | "splits">, OrderedJson>;
  return {
    ...counts,
    ...(importances && {
      importances: importances.map(({ feature, importance }) => ({ feature, importance })),
    }),
    ...(splits && { splits: splitsOf(splits) }),
  };
}

function splitsOf({ train, validate, calibrate }: Splits): OrderedJson {
  return {
    train: dated(train),
    validate: dated(validate),
    calibrate: dated(calibrate),
  } satisfies Record<keyof NonNullable<Fit["splits"]>, OrderedJson>;
}

function dated(span: DateSpan | undefined): OrderedJson {
  return span === undefined ? null : { start: formatDay(span.start), end: formatDay(span.end) };
}

/** The median number of calendar days from the fit rows of all tickers to their next prices; null without a ticker. */
export function medianSpacing(tickers: readonly { readonly rows: RowFacts }[]): number | null {
  return medianSpan(pooledSpans(tickers.map(({ rows }) => rows.spans)));
}

/** The facts about a ticker's rows that a job keeps for its final report. */
export interface RowFacts {
  readonly fitRows: number;
  readonly features: number;
  readonly spans: PriceSpans;
  /** The median of the last spans before mu's row, in calendar days. */
  readonly latestSpan: number;
  readonly warmUp: WarmUp;
}

export function rowFacts(panel: PanelRows): RowFacts {
  const { fit, columns, warmUp } = panel;
  return {
    fitRows: fit.length,
    features: columns.length,
    spans: fitSpans(panel),
    latestSpan: latestSpan(panel),
    warmUp,
  };
}
