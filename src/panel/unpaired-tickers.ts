import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";

/** Warns about each ticker that is in only one of the blobs. @returns a warning for each, in ascending code-point order. */
export function unpairedTickers(
  priceTickers: Iterable<string>,
  featureTickers: Iterable<string>,
): readonly Warning[] {
  const priced = new Set(priceTickers);
  const featured = new Set(featureTickers);
  return [...priced.symmetricDifference(featured)]
    .sort(compareCodePoints)
    .map((ticker) =>
      priced.has(ticker)
        ? { code: "no_features", ticker, message: `${ticker} is in the data-extraction blob only.` }
        : { code: "no_prices", ticker, message: `${ticker} is in the feature blob only.` },
    );
}
