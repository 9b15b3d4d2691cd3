import type { TickerSeries } from "../contract/market/ticker-series.ts";

/** Names that only pandas gives, to an index without a name. */
const UNNAMED = /^(?:Unnamed: \d+(?:_level_\d+)?|__index_level_\d+__)$/;
/** Names that `reset_index()` and `to_csv()` give; a feature or a ticker may have them too. */
const RESET = /^(?:|index|level_\d+)$/;

/** Whether a column of a CSV has no name, as pandas writes its index. */
export function isUnnamed(name: string): boolean {
  return name === "" || UNNAMED.test(name);
}

/**
 * Whether a column numbers the rows of its table: by its name, or by its name and whole numbers that ascend or descend with the dates. A
 * ticker has some of the numbers 0 to n - 1 of a table of all tickers.
 * @param values shape (n), by date; NaN if missing.
 */
function isRowNumber(name: string, values: Float64Array): boolean {
  if (UNNAMED.test(name)) return true;
  if (!RESET.test(name) || values.length < 2) return false;
  if (!values.every((value) => Number.isInteger(value) && value >= 0)) return false;
  const direction = Math.sign(values.at(-1)! - values[0]!) || 1;
  return values.every((value, i) => i === 0 || Math.sign(value - values[i - 1]!) === direction);
}

/** Whether what looks like the prices of a ticker numbers the rows of a table with a column per ticker, one by one. */
export function arePricesRowNumbers(name: string, prices: Float64Array): boolean {
  const step = prices[1]! - prices[0]!;
  return (
    isRowNumber(name, prices) &&
    Math.abs(step) === 1 &&
    prices.every((price, i) => price === prices[0]! + i * step)
  );
}

/** The names of columns that number the rows of every ticker. */
export function rowNumbers(tickers: readonly TickerSeries[]): ReadonlySet<string> {
  const columns = tickers[0]?.columns ?? [];
  return new Set(
    columns.filter((name, c) =>
      tickers.every(({ days: { length: n }, values }) =>
        isRowNumber(name, values.subarray(c * n, (c + 1) * n)),
      ),
    ),
  );
}

export function withoutColumns(series: TickerSeries, left: ReadonlySet<string>): TickerSeries {
  if (left.size === 0) return series;
  const n = series.days.length;
  const kept = [...series.columns.keys()].filter((c) => !left.has(series.columns[c]!));
  const values = new Float64Array(kept.length * n);
  for (const [at, c] of kept.entries()) values.set(series.values.subarray(c * n, (c + 1) * n), at * n);
  return { ...series, columns: kept.map((c) => series.columns[c]!), values };
}
