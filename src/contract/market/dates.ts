/**
 * Market dates. In memory a date is its day number, whole days since 1970-01-01 in the proleptic Gregorian calendar, so that order and
 * distance are integer arithmetic. In blobs and answers it is `YYYY-MM-DD`.
 */

export type Day = number;

export const MILLISECONDS_PER_DAY = 86_400_000;

/** Day number of a civil date. @returns the day, or undefined if that month has no such day (such as 2021-02-29). */
export function dayOfCivil(year: number, month: number, day: number): Day | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  // Howard Hinnant, "chrono-compatible low-level date algorithms", days_from_civil.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

/** Day of `YYYY-MM-DD`. @returns undefined for any other text. */
export function parseDay(text: string): Day | undefined {
  const match = ISO_DATE.exec(text);
  return match ? dayOfCivil(Number(match[1]), Number(match[2]), Number(match[3])) : undefined;
}

/** A cache of the texts of days: the rows of all tickers of a job share the same few thousand days. */
const texts = new Map<Day, string>();
const MAX_TEXTS = 2 ** 16;

/** `YYYY-MM-DD` of a day between the years 0 and 9999. */
export function formatDay(day: Day): string {
  const known = texts.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * MILLISECONDS_PER_DAY).toISOString().slice(0, 10);
  if (texts.size === MAX_TEXTS) texts.clear();
  texts.set(day, text);
  return text;
}
