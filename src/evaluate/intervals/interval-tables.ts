import type { Pausable } from "../../contract/machine/pausable.ts";
import { hasNoEnds } from "./conformal.ts";
import { type CoverageTable, type CoveredRows, coverageTable, scoreRatio } from "./coverage.ts";
import type { MethodIntervals, TickerIntervals } from "./ticker-intervals.ts";

/** The evidence for the requested method, and for the others on the same rows, by name. */
export interface IntervalTables extends CoverageTable {
  readonly others: ReadonlyMap<string, CoverageTable & { readonly score_ratio: number | null }>;
}

/** @param tickers in any order. */
export function* intervalTables(
  tickers: readonly TickerIntervals[],
  alpha: number,
): Pausable<IntervalTables> {
  const asked = tickers.map((ticker) => coveredRows(ticker, ticker.asked));
  const others: [string, CoverageTable & { readonly score_ratio: number | null }][] = [];
  for (const [k, { method }] of (tickers[0]?.others ?? []).entries()) {
    const other: CoveredRows[] = [];
    for (const ticker of tickers) {
      other.push(onSameRows(coveredRows(ticker, ticker.others[k]!), ticker.asked));
      yield 0;
    }
    const table = yield* coverageTable(other, alpha);
    const pairs = asked.map((rows, i) => [rows, other[i]!] as const);
    others.push([method, { ...table, score_ratio: yield* scoreRatio(pairs, alpha) }]);
  }
  return { ...(yield* coverageTable(asked, alpha)), others: new Map(others) };
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
