import { type Day, MILLISECONDS_PER_DAY, parseDay } from "../../contract/market/dates.ts";

/** Days of the years 0000 and 9999, the range of `YYYY-MM-DD`. */
const FIRST_DAY = -719_528;
const LAST_DAY = 2_932_896;
const EPOCH_TEXT = /^-?\d{1,15}$/;

/**
 * Day of a date in a blob's strings and keys: the first ten characters of an ISO date, or epoch milliseconds at midnight UTC.
 * @returns NaN if the text is neither.
 */
export function dayOfText(text: string): Day {
  const first = text.charCodeAt(0);
  if (!((first >= 48 && first <= 57) || first === 45)) return Number.NaN;
  return parseDay(text) ?? (EPOCH_TEXT.test(text) ? dayOfEpoch(Number(text)) : Number.NaN);
}

/** Day of epoch milliseconds. @returns NaN if they are not midnight UTC of a year from 0000 to 9999. */
export function dayOfEpoch(milliseconds: number): Day {
  const day = milliseconds / MILLISECONDS_PER_DAY;
  return Number.isInteger(day) && day >= FIRST_DAY && day <= LAST_DAY ? day + 0 : Number.NaN;
}

/** If names and dates can both occur, fewer digits than this are a name, such as the column 0 or the ticker 7203. */
const MIN_EPOCH_DIGITS = 8;

/** Whether a key that could also be a name is a date. @param day of its text, or NaN. */
export function isDateText(text: string, day: Day): boolean {
  return !Number.isNaN(day) && text.length >= MIN_EPOCH_DIGITS;
}

/** Why a text or number is not a date: a clause for a message. */
export function whyNoDate(value: string | number): string {
  return typeof value === "number" || EPOCH_TEXT.test(value)
    ? "is not a date: epoch milliseconds must be midnight UTC"
    : "is not a date: YYYY-MM-DD, optionally with a time, is expected";
}
