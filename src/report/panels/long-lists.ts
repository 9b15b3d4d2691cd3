import { countedRows } from "../figures.ts";

/** Up to this many tickers, each has a bar. */
const MAX_BARS = 44;
/** Beyond that, show only this many at the top and at the bottom. */
export const END_BARS = 20;

/** The top and the bottom of a list that is too long for a chart, or the whole list. */
export function ends<T>(rows: readonly T[]): readonly T[] {
  return rows.length <= MAX_BARS ? rows : [...rows.slice(0, END_BARS), ...rows.slice(-END_BARS)];
}

/** A year whose number of dates or rows is below this share of the longest year gets no column: one date would dwarf the rest. */
const MIN_SHARE = 0.05;

/** The years that a chart shows, and a sentence about the omitted years. */
export function longYears<T extends { readonly year: number; readonly n: number }>(
  years: readonly T[],
  noun: string,
): { readonly long: readonly T[]; readonly note: string } {
  const longest = years.reduce((most, { n }) => Math.max(most, n), 0);
  const isLong = ({ n }: T) => n >= MIN_SHARE * longest;
  const short = years.filter((year) => !isLong(year));
  const named = short.map(({ year, n }) => `${year} (${countedRows(n, noun)})`).join(", ");
  const note = short.length === 0 ? "" : ` Not shown, too few: ${named}.`;
  return { long: years.filter(isLong), note };
}
