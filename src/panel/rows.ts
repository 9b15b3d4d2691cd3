/** Rows of one ticker: the dates that have both a price and features. */
interface JoinedRows {
  /** Shape (r), ascending: index into the price dates. */
  readonly price: Int32Array;
  /** Shape (r), ascending: index into the feature dates. */
  readonly feature: Int32Array;
}

/** A ticker's features, shape (k, n): column after column, as they are read. */
interface FeatureColumns {
  readonly columns: readonly string[];
  readonly values: Float64Array;
  readonly n: number;
}

/** Joins two ascending lists of days. The features of a day are paired with the price of the same day, without a shift. */
export function joinRows(priceDays: Int32Array, featureDays: Int32Array): JoinedRows {
  const longest = Math.min(priceDays.length, featureDays.length);
  const price = new Int32Array(longest);
  const feature = new Int32Array(longest);
  let r = 0;
  for (let p = 0, f = 0; p < priceDays.length && f < featureDays.length; ) {
    const difference = priceDays[p]! - featureDays[f]!;
    if (difference === 0) {
      price[r] = p++;
      feature[r] = f++;
      r++;
    } else if (difference < 0) p++;
    else f++;
  }
  return { price: price.slice(0, r), feature: feature.slice(0, r) };
}

/** @returns the column indices, in order, that have a finite value on at least one of the given feature dates. */
export function columnsWithValues(features: FeatureColumns, dates: Int32Array): number[] {
  const kept: number[] = [];
  for (let c = 0; c < features.columns.length; c++) {
    const base = c * features.n;
    if (dates.some((date) => Number.isFinite(features.values[base + date]!))) kept.push(c);
  }
  return kept;
}

/** Which rows have every feature, and why the others do not. */
interface Completeness {
  /** Shape (r): positions of the rows without a missing value. */
  readonly complete: Int32Array;
  /**
   * The number of other rows that only wait for the window of a feature: every feature that is missing there has been missing since the
   * first row.
   */
  readonly warmUpRows: number;
  /** The index of the column that is missing on most of the first rows, the first one if equal; undefined if there is none. */
  readonly slowest: number | undefined;
  /** Shape (columns): the number of rows on which that column is missing, without those that wait for a window. */
  readonly missingByColumn: Int32Array;
}

/** Looks for missing values on the given feature dates, in the given columns only. */
export function completeRows(
  features: FeatureColumns,
  columns: readonly number[],
  dates: Int32Array,
): Completeness {
  const { values, n } = features;
  const broken = new Uint8Array(dates.length);
  /** 1 if a feature is missing that had a value before. */
  const torn = new Uint8Array(dates.length);
  const leading = new Int32Array(columns.length);
  const missingLater = new Int32Array(columns.length);
  for (let c = 0; c < columns.length; c++) {
    const base = columns[c]! * n;
    let r = 0;
    for (; r < dates.length && !isPresent(values[base + dates[r]!]!); r++) broken[r] = 1;
    leading[c] = r;
    for (; r < dates.length; r++) {
      if (isPresent(values[base + dates[r]!]!)) continue;
      broken[r] = torn[r] = 1;
      missingLater[c]!++;
    }
  }
  const tornBefore = runningCount(torn);
  const complete = new Int32Array(dates.length);
  let kept = 0;
  for (let r = 0; r < dates.length; r++) if (broken[r] === 0) complete[kept++] = r;
  const most = leading.reduce((a, b) => Math.max(a, b), 0);
  return {
    complete: complete.slice(0, kept),
    warmUpRows: dates.length - kept - tornBefore[dates.length]!,
    slowest: most === 0 ? undefined : leading.indexOf(most),
    missingByColumn: missingLater.map((later, c) => later + tornBefore[leading[c]!]!),
  };
}

/** NaN and both infinities, and nothing else, differ from themselves when subtracted. */
function isPresent(value: number): boolean {
  return value - value === 0;
}

/** Shape (n + 1): how many of the first 0, 1, … marks are set. */
function runningCount(marks: Uint8Array): Int32Array {
  const counts = new Int32Array(marks.length + 1);
  for (let i = 0; i < marks.length; i++) counts[i + 1] = counts[i]! + marks[i]!;
  return counts;
}

/** Rows of a block are written together, so that the block stays in the processor's cache for every column. */
const BLOCK_ROWS = 64;

/**
 * Turns columns into rows.
 * @returns shape (dates, columns), row-major: the value of column c on date i is `x[i * columns.length + c]`.
 */
export function gatherRowMajor(
  features: FeatureColumns,
  columns: readonly number[],
  dates: Int32Array,
): Float64Array {
  const { values, n } = features;
  const k = columns.length;
  const x = new Float64Array(dates.length * k);
  for (let from = 0; from < dates.length; from += BLOCK_ROWS) {
    const to = Math.min(from + BLOCK_ROWS, dates.length);
    for (let c = 0; c < k; c++) {
      const base = columns[c]! * n;
      for (let i = from, at = from * k + c; i < to; i++, at += k) x[at] = values[base + dates[i]!]!;
    }
  }
  return x;
}
