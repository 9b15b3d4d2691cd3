import { countedRows } from "../../data/figures.ts";

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
