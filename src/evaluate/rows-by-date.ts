import type { Day } from "../contract/market/dates.ts";
import type { DatedForecasts } from "./forecast-rows.ts";

/** The positions of the tickers' rows when sorted by date; rows of a date keep the order of the given tickers. */
export interface DateLayout {
  /** Date number 0; meaningless without rows. */
  readonly first: Day;
  /** Rows of date number d are at [starts[d], starts[d + 1]). */
  readonly starts: Int32Array;
  /** Shape (n): the position of each row, for the concatenated rows of the tickers. */
  readonly places: Int32Array;
}

/** The rows of all tickers, date after date. */
export interface RowsByDate extends Pick<DateLayout, "first" | "starts"> {
  readonly predicted: Float64Array;
  readonly realised: Float64Array;
}

/** A counting sort. @param rows days ascending each. */
export function dateLayout(rows: readonly Pick<DatedForecasts, "days">[]): DateLayout {
  const first = rows.reduce((day, ticker) => Math.min(day, ticker.days[0] ?? day), Number.POSITIVE_INFINITY);
  const last = rows.reduce((day, ticker) => Math.max(day, ticker.days.at(-1) ?? day), first);
  if (first === Number.POSITIVE_INFINITY) {
    return { first: 0, starts: new Int32Array(1), places: new Int32Array(0) };
  }
  const starts = new Int32Array(last - first + 2);
  for (const { days } of rows) for (const day of days) starts[day - first + 1]!++;
  for (let d = 1; d < starts.length; d++) starts[d]! += starts[d - 1]!;
  const next = starts.slice();
  const places = new Int32Array(starts.at(-1)!);
  let row = 0;
  for (const { days } of rows) for (const day of days) places[row++] = next[day - first]!++;
  return { first, starts, places };
}

/** The values of all rows, date after date. @param parts of the tickers of the layout. */
export function valuesByDate({ places }: DateLayout, parts: readonly Float64Array[]): Float64Array {
  const laid = new Float64Array(places.length);
  let row = 0;
  for (const part of parts) for (const value of part) laid[places[row++]!] = value;
  return laid;
}

/** A date whose rows are at [from, to). */
export interface DateRange {
  readonly day: Day;
  readonly from: number;
  readonly to: number;
}

/** The dates with at least `rows` rows, ascending. */
export function* datesWith(
  { first, starts }: Pick<DateLayout, "first" | "starts">,
  rows = 1,
): Generator<DateRange> {
  for (let d = 0; d + 1 < starts.length; d++) {
    const [from, to] = [starts[d]!, starts[d + 1]!];
    if (to - from >= rows) yield { day: first + d, from, to };
  }
}

/** The sum of each date that has a row, in time order. */
export function dateSums(layout: DateLayout, parts: readonly Float64Array[]): Float64Array {
  const laid = valuesByDate(layout, parts);
  return Float64Array.from(datesWith(layout), ({ from, to }) =>
    laid.subarray(from, to).reduce((sum, value) => sum + value, 0),
  );
}

export function sortedByDate(rows: readonly DatedForecasts[]): RowsByDate {
  const layout = dateLayout(rows);
  const laid = (of: (row: DatedForecasts) => Float64Array) => valuesByDate(layout, rows.map(of));
  const { first, starts } = layout;
  return { first, starts, predicted: laid((row) => row.predicted), realised: laid((row) => row.realised) };
}

/** The rows of each date that has at least `least`, dates ascending. */
export function* eachDate(
  rows: RowsByDate,
  least = 1,
): Generator<Pick<RowsByDate, "predicted" | "realised"> & Pick<DateRange, "day">> {
  for (const { day, from, to } of datesWith(rows, least))
    yield { day, predicted: rows.predicted.subarray(from, to), realised: rows.realised.subarray(from, to) };
}
