import {
  INTERVAL_METHODS,
  type IntervalMethod,
  type Intervals,
} from "../../contract/config/panel-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { ADAPTIVE_CONSTANTS, adaptiveIntervals, prequentialIntervals } from "./adaptive-intervals.ts";
import {
  type Bound,
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
  readonly method: IntervalMethod;
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
  readonly others: readonly MethodIntervals[];
}

type Method = (
  residuals: DatedResiduals,
  rows: IntervalRows,
  alpha: number,
  bound: Bound,
) => Omit<MethodIntervals, "method">;

const METHODS: Readonly<Record<IntervalMethod, Method>> = {
  adaptive(residuals, rows, alpha, bound) {
    const { lower, upper } = adaptiveIntervals(residuals, rows, alpha, bound);
    const tested = prequentialIntervals(residuals, alpha, bound);
    return { bounds: { lower, upper }, prequential: tested && { ...residuals, ...tested } };
  },
  split(residuals, rows, alpha, bound) {
    return { bounds: splitIntervals(residuals, rows.predicted, alpha, bound) };
  },
};

/** The constants of a method, as the output records them. */
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
  const { method, alpha, bound, ...unused } = intervals;
  unused satisfies Record<string, never>; // A new setting of intervals does not compile until it is used here.
  const made: MethodIntervals[] = [];
  for (const name of INTERVAL_METHODS) {
    made.push({ method: name, ...METHODS[name](residuals, rows, alpha, bound) });
  }
  const requested = made.find((one) => one.method === method)!;
  const unsupported = intervalUnsupported(ticker, residuals.realised.length, alpha);
  return {
    bounds: requested.bounds,
    intervals: { ticker, rows, requested, others: made.filter((one) => one !== requested) },
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
  const others: [string, CoverageTable & { readonly score_ratio: number | null }][] = [];
  for (const [k, { method }] of (tickers[0]?.others ?? []).entries()) {
    const other: CoveredRows[] = [];
    for (const ticker of tickers) {
      other.push(onSameRows(coveredRows(ticker, ticker.others[k]!), ticker.requested));
    }
    const table = coverageTable(other, alpha);
    const pairs = requested.map((rows, i) => [rows, other[i]!] as const);
    others.push([method, { ...table, score_ratio: scoreRatio(pairs, alpha) }]);
  }
  return { ...coverageTable(requested, alpha), others: new Map(others) };
}

function coveredRows(
  { ticker, rows }: TickerIntervals,
  { bounds, method: _, ...tested }: MethodIntervals,
): CoveredRows {
  return { ticker, ...rows, ...bounds, ...tested };
}

/** Without the ends of rows for which the requested method has none. */
function onSameRows(rows: CoveredRows, { bounds }: MethodIntervals): CoveredRows {
  const kept = (end: number, i: number) => (hasNoEnds(bounds, i) ? Number.NaN : end);
  return { ...rows, lower: rows.lower.map(kept), upper: rows.upper.map(kept) };
}
