import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { listNames } from "./rows.ts";

/** The features of several tickers as one list, and the indices of each ticker's own features in it. */
export interface FeatureUnion {
  /** In the order of first appearance, tickers ascending by code point. */
  readonly names: readonly string[];
  /** Per given ticker: index of each of its columns in `names`; -1 for one that only late tickers have. */
  readonly columns: readonly (readonly number[])[];
  /** `feature_absent` for each ticker that lacks some, ascending. */
  readonly warnings: readonly Warning[];
}

interface Featured {
  readonly ticker: string;
  readonly columns: readonly string[];
  /** For a late ticker, which adds no features. */
  readonly joins?: number;
}

/**
 * Unites the features of all tickers, for a joint network or a pooled fit.
 * @param filled the replacement of a missing feature, for the warnings.
 */
export function uniteFeatures(
  tickers: readonly Featured[],
  filled = "they are 0 after scaling",
): FeatureUnion {
  const ascending = tickers.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const indices = new Map<string, number>();
  for (const { columns, joins } of ascending) {
    if (joins !== undefined) continue;
    for (const name of columns) if (!indices.has(name)) indices.set(name, indices.size);
  }
  const names = [...indices.keys()];
  return {
    names,
    columns: tickers.map(({ columns }) => columns.map((name) => indices.get(name) ?? -1)),
    warnings: ascending.flatMap((ticker) => absentWarning(ticker, names, filled) ?? []),
  };
}

function absentWarning(
  { ticker, columns }: Featured,
  names: readonly string[],
  filled: string,
): Warning | undefined {
  const own = new Set(columns);
  const absent = names.filter((name) => !own.has(name));
  if (absent.length === 0) return undefined;
  return {
    code: "feature_absent",
    ticker,
    count: absent.length,
    message: `${ticker} lacks features that other tickers have (${filled}): ${listNames(absent)}.`,
  };
}
