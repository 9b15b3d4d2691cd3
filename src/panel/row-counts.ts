import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";

/** How many rows each step of building a ticker's panel kept, and what it removed. */
export interface RowCounts {
  /** Dates in the window with a price. */
  readonly priceDates: number;
  /** Prices of zero or below. */
  readonly nonpositivePrices: number;
  /** Price dates without a label because the next price is too far away. */
  readonly longGaps: number;
  /** Price dates that are also in the feature blob. */
  readonly featureRows: number;
  /** Feature rows whose label is known by the cut. */
  readonly candidates: number;
  /** Features in the blob. */
  readonly features: number;
  /** Features without a value on the candidates. */
  readonly emptyFeatures: number;
  /** Feature rows that were dropped because a kept feature is missing there. */
  readonly rowsWithMissing: number;
  readonly fitRows: number;
  readonly scoreRows: number;
}

/** One sentence that leads from price dates to fit rows. */
export function describeCounts(counts: RowCounts, cut: Day): string {
  return (
    `${counted(counts.priceDates, "price date")}, ${counts.featureRows} of them with a feature row, ` +
    `${counts.candidates} with a label known by ${formatDay(cut)}; ` +
    `${counts.features - counts.emptyFeatures} of ${counted(counts.features, "feature")} have values there, ` +
    `${counted(counts.rowsWithMissing, "row")} ${counts.rowsWithMissing === 1 ? "lacks" : "lack"} at least one`
  );
}

const NAMES_SHOWN = 20;

/**
 * The warnings of one ticker's rows, in the order of the steps that caused them.
 * @param facts `warmUpRows` wait for the window of a feature; the job counts those of all tickers in one warning.
 */
export function rowWarnings(facts: {
  readonly ticker: string;
  readonly counts: RowCounts;
  readonly emptyNames: readonly string[];
  readonly columns: readonly string[];
  readonly warmUpRows: number;
  readonly missingByColumn: Int32Array;
}): Warning[] {
  const { ticker, counts, emptyNames, columns, warmUpRows, missingByColumn } = facts;
  const lacking = counts.rowsWithMissing - warmUpRows;
  const warnings: Warning[] = [];
  const warn = (code: Warning["code"], count: number, message: string): void => {
    if (count > 0) warnings.push({ code, message, ticker, count });
  };
  warn(
    "nonpositive_price",
    counts.nonpositivePrices,
    `${ticker}: ${counts.nonpositivePrices === 1 ? "1 price is zero or negative and counts" : `${counts.nonpositivePrices} prices are zero or negative and count`} as absent.`,
  );
  warn(
    "long_gap",
    counts.longGaps,
    `${ticker}: ${counts.longGaps} of ${counted(counts.priceDates, "price date")} (${sharePercent(counts.longGaps / counts.priceDates)}) ${counts.longGaps === 1 ? "has its" : "have their"} next price more than ${MAX_GAP_DAYS} calendar days later and no label.`,
  );
  warn(
    "empty_feature",
    emptyNames.length,
    `${ticker}: without a finite value on the dates to learn from, left out: ${listNames(emptyNames)}.`,
  );
  const worst = missingByColumn.indexOf(missingByColumn.reduce((most, count) => Math.max(most, count), 0));
  warn(
    "missing_features",
    lacking,
    `${ticker}: ${lacking === 1 ? "1 row lacks a feature and is" : `${lacking} rows lack a feature and are`} left out; ` +
      `${columns[worst]} is missing most often, on ${counted(missingByColumn[worst]!, "row")}.`,
  );
  return warnings;
}

/** At least one digit, however small the share. */
function sharePercent(share: number): string {
  return `${Number((100 * share).toPrecision(2))}%`;
}

/** Names for a sentence: the first ones, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_SHOWN).join(", ");
  return names.length > NAMES_SHOWN ? `${listed} and ${names.length - NAMES_SHOWN} more` : listed;
}
