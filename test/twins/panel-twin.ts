import { naturalLog } from "../../src/panel/natural-log.ts";
import type { Quotes } from "./market.ts";

/** A row in the format of the slow twin of the panel. */
export interface TwinRow {
  readonly date: string;
  readonly features: readonly number[];
  readonly label: number | null;
  readonly labelDate: string | null;
}

export interface TwinPanel {
  readonly columns: readonly string[];
  readonly rows: readonly TwinRow[];
  readonly fit: readonly TwinRow[];
  readonly score: readonly TwinRow[];
  readonly nonpositive: number;
  readonly longGaps: number;
  readonly emptyColumns: readonly string[];
  readonly rowsWithMissing: number;
  /** The number of these rows that lack only what every earlier row lacks too. */
  readonly warmUpRows: number;
}

const MILLISECONDS_A_DAY = 24 * 60 * 60 * 1000;

/**
 * The rows of one ticker, in a slow and obvious way: dates are texts, rows are objects, and every question is asked again for every row. It
 * shares nothing with the code that it checks, except the logarithm, which Python checks.
 */
export function slowPanel(quotes: Quotes, start: string, end: string, cut: string, delay = 0): TwinPanel {
  const inside = [...quotes.prices].filter(([date]) => start <= date && date <= end).sort();
  const priced = inside.filter(([, price]) => Number.isFinite(price) && price > 0);

  let longGaps = 0;
  let learned = "";
  const labelled: TwinRow[] = [];
  for (const [date] of priced) {
    // The row's own price, those of the delay, the one at which the return begins, and the one that makes the label known.
    const steps = priced.filter(([other]) => other >= date).slice(0, delay + 2);
    const hasGap = steps.some(
      ([later], i) => i > 0 && (Date.parse(later) - Date.parse(steps[i - 1]![0])) / MILLISECONDS_A_DAY > 10,
    );
    if (hasGap) longGaps++;
    const isLabelled = !hasGap && steps.length === delay + 2;
    const label = isLabelled ? naturalLog(steps.at(-1)![1] / steps.at(-2)![1]) : null;
    const labelDate = isLabelled ? steps.at(-1)![0] : null;
    const features = quotes.features.get(date);
    if (labelDate !== null && labelDate <= cut) learned = labelDate;
    if (features !== undefined) labelled.push({ date, features, label, labelDate });
  }

  const isCandidate = (row: TwinRow): boolean => row.labelDate !== null && row.labelDate <= cut;
  const candidates = labelled.filter(isCandidate);
  const valued = quotes.names.map((_, c) => candidates.some((row) => Number.isFinite(row.features[c])));
  const hasValues = (c: number): boolean => valued[c]!;
  const columns = quotes.names.filter((_, c) => hasValues(c));
  const rows = labelled
    .map((row) => ({ ...row, features: row.features.filter((_, c) => hasValues(c)) }))
    .filter((row) => row.features.every((value) => Number.isFinite(value)));
  const lacks = (row: TwinRow, c: number): boolean => hasValues(c) && !Number.isFinite(row.features[c]);
  const lackedBy = (row: TwinRow): number[] => quotes.names.map((_, c) => c).filter((c) => lacks(row, c));
  const waits = labelled.filter((row, i) => {
    const lacked = lackedBy(row);
    return lacked.length > 0 && lacked.every((c) => labelled.slice(0, i).every((before) => lacks(before, c)));
  });
  const fit = rows.filter(isCandidate);
  return {
    columns,
    rows,
    fit,
    score: rows.filter((row) => fit.length === 0 || row.date >= learned),
    nonpositive: inside.filter(([, price]) => Number.isFinite(price) && price <= 0).length,
    longGaps,
    emptyColumns: quotes.names.filter((_, c) => !hasValues(c)),
    rowsWithMissing: labelled.length - rows.length,
    warmUpRows: waits.length,
  };
}
