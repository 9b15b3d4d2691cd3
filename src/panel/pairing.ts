import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { compareCodePoints } from "../contract/market/ticker-order.ts";
import { type Failure, namedFailure } from "../contract/problems/failures.ts";
import type { Warning } from "../contract/problems/warnings.ts";

/**
 * The tickers that both blobs have.
 * @returns them, and a warning for each of the others, all in ascending code-point order.
 */
export function pairTickers(
  priceTickers: Iterable<string>,
  featureTickers: Iterable<string>,
): { tickers: string[]; warnings: Warning[] } {
  const priced = new Set(priceTickers);
  const featured = new Set(featureTickers);
  const tickers: string[] = [];
  const warnings: Warning[] = [];
  for (const ticker of [...new Set([...priced, ...featured])].sort(compareCodePoints)) {
    if (priced.has(ticker) && featured.has(ticker)) tickers.push(ticker);
    else if (priced.has(ticker)) {
      warnings.push({
        code: "no_features",
        ticker,
        message: `${ticker} is in the data-extraction blob only.`,
      });
    } else {
      warnings.push({ code: "no_prices", ticker, message: `${ticker} is in the feature blob only.` });
    }
  }
  return { tickers, warnings };
}

/**
 * The error of a job that has lost every ticker: `insufficient_history` where that is the reason of each, or where
 * the blobs share no ticker; `invalid_model_params` or `sparse_prices` where it is that of each ticker with enough
 * history; `all_failed`, with the reasons, otherwise.
 */
export function noTickerLeft(failures: readonly Failure[]): MucastError {
  const listed = [...failures].sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  if (listed.length === 0) {
    return new MucastError(
      "insufficient_history",
      "No ticker is in both the feature blob and the data-extraction blob",
    );
  }
  const others = listed.filter(({ code }) => code !== "insufficient_history");
  const [first = listed[0]!] = others;
  return new MucastError(
    commonCode(others),
    `No ticker is left of ${listed.length}; the first: ${namedFailure(first)}`,
    { failures: listed },
  );
}

/** What ends the job under its own name where it is the reason of every ticker. */
const COMMON_CODES = ["invalid_model_params", "sparse_prices"] as const;

function commonCode(others: readonly Failure[]): ErrorCode {
  if (others.length === 0) return "insufficient_history";
  const common = COMMON_CODES.find((code) => others.every((failure) => failure.code === code));
  return common ?? "all_failed";
}
