import {
  INTERVAL_METHODS,
  type IntervalMethod,
  type Intervals,
} from "../../contract/config/panel-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { ADAPTIVE_CONSTANTS, adaptiveIntervals, prequentialIntervals } from "./adaptive-intervals.ts";
import {
  type Bounds,
  type DatedResiduals,
  hasNoEnds,
  type IntervalRows,
  intervalUnsupported,
  noBounds,
  type Residuals,
  splitIntervals,
} from "./conformal.ts";
import { type CoverageTable, type CoveredRows, coverageTable, scoreRatio } from "./coverage.ts";

/** The settings of intervals that are on; undefined if a job makes none. */
export type IntervalChoice = Intervals | undefined;

/** The intervals of one method around a ticker's forecasts. */
interface MethodIntervals {
  /** Shape (n). */
  readonly bounds: Bounds;
  /** For a method that can be tested on residuals alone: these and their ends, undefined if there are too few. */
  readonly prequential?: (Bounds & Residuals) | undefined;
}

/** The intervals of one ticker: those of the requested method, and of every other method on the same rows. */
export interface TickerIntervals {
  readonly ticker: string;
  readonly rows: IntervalRows;
  readonly requested: MethodIntervals;
  readonly others: ReadonlyMap<IntervalMethod, MethodIntervals>;
}

type Method = (residuals: DatedResiduals, rows: IntervalRows, { alpha, bound }: Intervals) => MethodIntervals;

const METHODS: Readonly<Record<IntervalMethod, Method>> = {
  adaptive(residuals, rows, { alpha, bound }) {
    const { lower, upper } = adaptiveIntervals(residuals, rows, alpha, bound);
    const tested = prequentialIntervals(residuals, alpha, bound);
    return { bounds: { lower, upper }, prequential: tested && { ...residuals, ...tested } };
  },
  split: (residuals, rows, { alpha, bound }) => ({
    bounds: splitIntervals(residuals, rows.predicted, alpha, bound),
  }),
};

export const METHOD_CONSTANTS: Readonly<Record<IntervalMethod, Readonly<Record<string, number>>>> = {
  adaptive: ADAPTIVE_CONSTANTS,
  split: {},
};

/**
 * Intervals around one ticker's forecasts, from its own residuals.
 * @returns the ends of every score row, all NaN if no intervals are requested or, with a warning, if the residuals support none; and the
 *   intervals of each method if they are requested.
 */
export function tickerIntervals(
  ticker: string,
  rows: IntervalRows,
  residuals: DatedResiduals,
  intervals: IntervalChoice,
): {
  readonly bounds: Bounds;
  readonly intervals?: TickerIntervals;
  readonly warnings: readonly Warning[];
} {
  if (intervals === undefined) return { bounds: noBounds(rows.days.length), warnings: [] };
  const { method, alpha } = intervals;
  const others = new Map(INTERVAL_METHODS.map((name) => [name, METHODS[name](residuals, rows, intervals)]));
  const requested = others.get(method)!;
  others.delete(method);
  const unsupported = intervalUnsupported(ticker, residuals.realised.length, alpha);
  return {
    bounds: requested.bounds,
    intervals: { ticker, rows, requested, others },
    warnings: unsupported === undefined ? [] : [unsupported],
  };
}

/** The evidence for the requested method, and for the others on the same rows, by name. */
export interface IntervalTables extends CoverageTable {
  readonly others: ReadonlyMap<string, CoverageTable & { readonly score_ratio: number | null }>;
}

/** @param tickers in any order. */
export function intervalTables(tickers: readonly TickerIntervals[], alpha: number): IntervalTables {
  const requested = tickers.map((ticker) => coveredRows(ticker, ticker.requested));
  const names = [...(tickers[0]?.others.keys() ?? [])];
  const others = names.map((name) => {
    const rows = tickers.map((ticker, i) => {
      const other = coveredRows(ticker, ticker.others.get(name)!);
      // Without the ends of rows for which the requested method has none.
      const keep = (end: number, row: number) => (hasNoEnds(requested[i]!, row) ? Number.NaN : end);
      return { ...other, lower: other.lower.map(keep), upper: other.upper.map(keep) };
    });
    const score_ratio = scoreRatio(
      requested.map((own, i) => [own, rows[i]!]),
      alpha,
    );
    return [name, { ...coverageTable(rows, alpha), score_ratio }] as const;
  });
  return { ...coverageTable(requested, alpha), others: new Map(others) };
}

function coveredRows({ ticker, rows }: TickerIntervals, { bounds, ...tested }: MethodIntervals): CoveredRows {
  return { ticker, ...rows, ...bounds, ...tested };
}
