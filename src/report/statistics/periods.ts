import { type Day, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";

/** Successive positions [from, to) whose days lie in one month, or one year. */
export interface Period {
  readonly year: number;
  /** From 1 to 12. */
  readonly month: number;
  readonly from: number;
  readonly to: number;
}

/** @param days ascending. */
export function months(days: Int32Array): Period[] {
  const found: Period[] = [];
  for (let i = 0; i < days.length; ) {
    const { year, month } = monthOf(days[i]!);
    const from = i;
    const end = Date.UTC(year, month, 1) / MILLISECONDS_PER_DAY;
    while (i < days.length && days[i]! < end) i++;
    found.push({ year, month, from, to: i });
  }
  return found;
}

/** Like `months`; `month` is that of the first day. */
export function years(days: Int32Array): Period[] {
  const found: Period[] = [];
  for (const month of months(days)) {
    const last = found.at(-1);
    if (last?.year === month.year) found[found.length - 1] = { ...last, to: month.to };
    else found.push(month);
  }
  return found;
}

function monthOf(day: Day): { year: number; month: number } {
  const date = new Date(day * MILLISECONDS_PER_DAY);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 };
}
