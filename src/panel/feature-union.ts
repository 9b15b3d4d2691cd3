import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { listNames } from "./rows.ts";
import type { PanelRows } from "./ticker-panel.ts";

/** The features of several tickers as one list, and the indices of each ticker's features in it. */
export interface FeatureUnion {
  /** In the order of first appearance, tickers ascending by code point. */
  readonly names: readonly string[];
  /** Per given ticker: index of each of its columns in `names`; -1 for one that only late tickers have. */
  readonly columns: readonly (readonly number[])[];
  /** `feature_absent` for each ticker that lacks some, ascending. */
  readonly warnings: readonly Warning[];
}

/**
 * Unites the features of all tickers, for a joint network or a pooled fit. Late tickers add none.
 * @param filled the replacement of a missing feature, for the warnings.
 */
export function uniteFeatures(
  tickers: readonly Pick<PanelRows, "ticker" | "columns" | "joins">[],
  filled = "they are 0 after scaling",
): FeatureUnion {
  const ascending = tickers.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const early = ascending.filter(({ joins }) => joins === undefined);
  const names = [...new Set(early.flatMap(({ columns }) => columns))];
  const indices = new Map(names.map((name, index) => [name, index]));
  return {
    names,
    columns: tickers.map(({ columns }) => columns.map((name) => indices.get(name) ?? -1)),
    warnings: ascending.flatMap(({ ticker, columns }): Warning[] => {
      const present = new Set(columns);
      const absent = names.filter((name) => !present.has(name));
      if (absent.length === 0) return [];
      const message = `${ticker} lacks features that other tickers have (${filled}): ${listNames(absent)}.`;
      return [{ code: "feature_absent", ticker, count: absent.length, message }];
    }),
  };
}
