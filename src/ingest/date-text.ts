import { type Day, dayOfCivil, MILLISECONDS_PER_DAY, parseDay } from "../contract/market/dates.ts";
import { invalid, kindOf, type Position, quote } from "./faults.ts";

/** Days of the years 0000 and 9999, the range of `YYYY-MM-DD`. */
const FIRST_DAY = -719_528;
const LAST_DAY = 2_932_896;
const MILLISECONDS_PER_MINUTE = 60_000;
/** Of a Date, in milliseconds. */
const MAX_DATE = 8.64e15;
const EPOCH_TEXT = /^-?\d{1,15}$/;
const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})([T ].*)?$/;
/** `T16:00:00.000Z`, ` 16:00`, ` 4:00 PM EST`, `T00+09:00`. The hour 24 is excluded, because it would be the next day. */
const TIME =
  /^[T ]([01]?\d|2[0-3])(?::([0-5]\d)(?::((?:[0-5]\d|60)(?:[.,]\d+)?))?)?(?: ?([AaPp])[Mm])?(?: ?([A-Z]{1,5}|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?))?$/;

/** The day of an instant, in epoch milliseconds, on the calendar of a time zone. */
export type ZoneCalendar = (milliseconds: number) => Day;

/** @throws RangeError for an unknown zone. */
export function zoneCalendar(timeZone: string): ZoneCalendar {
  const numbers = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
  // Swedes write dates as ISO does.
  const { format } = new Intl.DateTimeFormat("sv-SE", { timeZone, ...numbers });
  const known = new Map<number, Day>();
  return (milliseconds) => {
    let day = known.get(milliseconds);
    if (day === undefined) {
      const text = Math.abs(milliseconds) <= MAX_DATE ? format(milliseconds) : "";
      day = parseDay(text) ?? Number.NaN;
      known.set(milliseconds, day);
    }
    return day;
  };
}

/**
 * Day of a date in a blob's strings and keys: an ISO date, perhaps with a time, or epoch milliseconds at midnight UTC.
 * @returns NaN if the text is neither, or if `dayAt` the time is NaN.
 */
export function dayOfText(text: string, zone?: ZoneCalendar): Day {
  const first = text.charCodeAt(0);
  if (!((first >= 48 && first <= 57) || first === 45)) return Number.NaN;
  const match = ISO_DATE.exec(text);
  if (match === null) return EPOCH_TEXT.test(text) ? dayOfEpoch(Number(text)) : Number.NaN;
  const day = dayOfCivil(Number(match[1]), Number(match[2]), Number(match[3]));
  return day === undefined ? Number.NaN : dayAt(day, match[4], zone);
}

/**
 * The market date of a time on the clock of `day`. Midnight keeps the day, whatever its offset from UTC. Any other time may belong to
 * another day in the market's zone, so it has a date only in a zone; without an offset, it is on the clock of that zone.
 * @param time from its separator on. @returns NaN for a text that is not a time, and for a time without a date.
 */
export function dayAt(day: Day, time: string | undefined, zone?: ZoneCalendar): Day {
  if (time === undefined) return day;
  const match = TIME.exec(time);
  if (match === null) return Number.NaN;
  const [, hour, minute = 0, second = 0, half, offset] = match;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  const minutes = 60 * hours + Number(minute);
  if (minutes === 0 && /^[0.,]*$/.test(`${second}`)) return day;
  if (zone === undefined || offset === undefined) return zone === undefined ? Number.NaN : day;
  const east = minutesEast(offset);
  return Number.isNaN(east)
    ? east
    : zone(day * MILLISECONDS_PER_DAY + (minutes - east) * MILLISECONDS_PER_MINUTE);
}

export function isTime(text: string): boolean {
  return TIME.test(text);
}

/** NaN for an abbreviation such as IST, which several zones have. */
function minutesEast(offset: string): number {
  if (/^(?:Z|UTC|GMT)$/.test(offset)) return 0;
  const [, sign, hours, minutes = 0] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset) ?? [];
  return (sign === "-" ? -1 : 1) * (60 * Number(hours) + Number(minutes));
}

/** Day of epoch milliseconds. @returns NaN if they are not midnight UTC of a year from 0000 to 9999. */
export function dayOfEpoch(milliseconds: number): Day {
  const day = milliseconds / MILLISECONDS_PER_DAY;
  return Number.isInteger(day) && day >= FIRST_DAY && day <= LAST_DAY ? day + 0 : Number.NaN;
}

/** If names and dates can both occur, fewer digits than this are a name, such as the column 0 or the ticker 7203. */
const MIN_EPOCH_DIGITS = 8;

/** Whether a key that could also be a name is meant as a date. */
export function isDateKey(text: string): boolean {
  return Number.isNaN(dayOfText(text)) ? ISO_DATE.test(text) : text.length >= MIN_EPOCH_DIGITS;
}

/** Day of a value. @throws MucastError invalid_data if it is no date. */
export function dayOf(value: unknown, position: Position): Day {
  if (typeof value !== "string" && typeof value !== "number")
    throw invalid(position, `is ${kindOf(value)}; a date is expected`);
  const day = typeof value === "number" ? dayOfEpoch(value) : dayOfText(value);
  if (Number.isNaN(day)) throw invalid(position, `${quote(String(value))} ${whyNoDate(value)}`);
  return day;
}

/** Why a time of day has no date: a clause for a message. */
export const NO_MIDNIGHT =
  "is not midnight in its own zone; write dates as YYYY-MM-DD, or name a zone for prepare to read times in (--time-zone NAME, over HTTP time_zone)";

/** Why a text or number is not a date: a clause for a message. */
export function whyNoDate(value: string | number): string {
  if (typeof value === "number" || EPOCH_TEXT.test(value))
    return "is not a date: epoch milliseconds must be midnight UTC";
  const time = ISO_DATE.exec(value)?.[4];
  return time !== undefined && TIME.test(time) && !Number.isNaN(dayOfText(value.slice(0, 10)))
    ? NO_MIDNIGHT
    : "is not a date: YYYY-MM-DD is expected";
}
