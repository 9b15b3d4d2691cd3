import { MucastError } from "../contract/errors/errors.ts";
import type { OutputDocument } from "./open-document.ts";
import type { OutputSummary } from "./output-summary.ts";
import { byTicker } from "./scored-rows.ts";

export type Fold = NonNullable<OutputSummary["cross_validation"]>[string]["folds"][number];

/** One fold of one ticker: its out-of-fold rows are [from, to). */
export interface FoldRows {
  readonly ticker: string;
  /** From 1, in time order. Folds test the last rows, so a ticker with fewer of them lacks the first numbers. */
  readonly number: number;
  readonly fold: Fold;
  readonly from: number;
  readonly to: number;
}

/**
 * The folds of each ticker of `outOfFold`, in time order.
 * @throws MucastError invalid_data if the folds of a ticker do not add up to its rows.
 */
export function foldRows({
  name,
  document: { cross_validation },
  outOfFold = [],
}: Pick<OutputDocument, "name" | "document" | "outOfFold">): FoldRows[][] {
  const tickers = cross_validation === undefined ? [] : byTicker(cross_validation);
  const most = tickers.reduce((count, [, { folds }]) => Math.max(count, folds.length), 0);
  return tickers.map(([ticker, { folds }], k) => {
    const rows = outOfFold[k]!.days.length;
    let to = 0;
    const found = folds.map((fold, i) => {
      const from = to;
      to += fold.n;
      return { ticker, number: most - folds.length + i + 1, fold, from, to };
    });
    if (to !== rows) throw wrongRows(name, ticker, rows);
    return found;
  });
}

function wrongRows(source: string, ticker: string, rows: number): MucastError {
  const path = `cross_validation.${ticker}.folds`;
  const message = `${source} is not an output of a job: the folds in ${path} do not add up to its ${rows} rows`;
  return new MucastError("invalid_data", message, { source, path });
}
