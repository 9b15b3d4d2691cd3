import type { DateFormat } from "../contract/config/input-formats.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { type Day, dayOfCivil, formatDay } from "../contract/market/dates.ts";
import { dayAt, dayOfEpoch, isTime, NO_MIDNIGHT, type ZoneCalendar } from "../ingest/date-text.ts";

/** A date such as `3/4/2020`, whose month may be 3 or 4. */
interface Undecided {
  readonly first: number;
  readonly second: number;
  readonly year: number;
}

interface Stamp {
  readonly text: string;
  readonly line: number;
  readonly date: Day | Undecided;
  /** From its separator on. */
  readonly time: string | undefined;
}

const MONTHS = "january february march april may june july august september october november december";
const monthOf = (name: string) =>
  MONTHS.split(" ").findIndex((month) => month.startsWith(name.toLowerCase())) + 1;
/** Three parts and perhaps a time, and how the parts are read. */
const FORMS: readonly (readonly [
  RegExp,
  (...parts: [string, string, string]) => Stamp["date"] | undefined,
])[] = [
  [/^(\d{4})(\d\d)(\d\d)([T ].*)?$/, (year, month, day) => dayOfCivil(+year, +month, +day)],
  [/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})([T ].*)?$/, (year, month, day) => dayOfCivil(+year, +month, +day)],
  [
    /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})([T ].*)?$/,
    (...parts) => {
      const [first, second, year] = parts.map(Number) as [number, number, number];
      const isDate = (dayOfCivil(year, first, second) ?? dayOfCivil(year, second, first)) !== undefined;
      return isDate ? { first, second, year } : undefined;
    },
  ],
  [
    /^(\d{1,2})[- ]?([A-Za-z]{3,9})\.?[-, ]*(\d{4})([T ].*)?$/,
    (day, month, year) => dayOfCivil(+year, monthOf(month), +day),
  ],
  [
    /^([A-Za-z]{3,9})\.?[- ](\d{1,2})(?:,[ ]?|[- ])(\d{4})([T ].*)?$/,
    (month, day, year) => dayOfCivil(+year, monthOf(month), +day),
  ],
];
/** Seconds since 1970, from 1973 to 2286, or milliseconds, microseconds or nanoseconds. */
const EPOCH = /^(\d{9,10})(?:\d{3}){0,3}$/;
/** Days of a spreadsheet from 1954 to 2119. They count from 1899-12-30. */
const SERIAL = /^[2-7]\d{4}(?:\.\d+)?$/;
const SERIAL_DAY_ZERO = 25_569;

export function isDate(text: string): boolean {
  return EPOCH.test(text) || readStamp(text, 0) !== undefined;
}

function readStamp(text: string, line: number): Stamp | undefined {
  for (const [form, read] of FORMS) {
    const [, first, second, third, time] = form.exec(text) ?? [];
    if (first === undefined) continue;
    const date = read(first, second!, third!);
    return date === undefined || (time !== undefined && !isTime(time))
      ? undefined
      : { text, line, date, time };
  }
  return undefined;
}

/**
 * The dates of a column. The order of day and month may show only in a later line, so the column keeps each distinct text once, and turns the
 * texts into days after its end.
 */
export class DateColumn {
  readonly #source: string;
  readonly #zone: ZoneCalendar | undefined;
  readonly #format: DateFormat | undefined;
  readonly #tokens = new Map<string, number>();
  readonly #stamps: Stamp[] = [];

  /** @param zone of the times of day; without it, only midnight has a date. */
  constructor(source: string, zone: ZoneCalendar | undefined, format: DateFormat | undefined) {
    this.#source = source;
    this.#zone = zone;
    this.#format = format;
  }

  /** @returns the index of the cell's date in `days()`. */
  take(cell: string, line: number): number {
    const known = this.#tokens.get(cell);
    if (known !== undefined) return known;
    const text = cell.trim();
    const stamp = EPOCH.test(text) ? this.#readEpoch(text, line) : readStamp(text, line);
    if (stamp === undefined) throw this.#fault(`${show(text)} is not a date${hint(text)}`, line);
    if (Number.isNaN(dayAt(0, stamp.time, this.#zone)))
      throw this.#fault(`${show(text)} ${NO_MIDNIGHT}`, line);
    this.#tokens.set(cell, this.#stamps.length);
    return this.#stamps.push(stamp) - 1;
  }

  /** The first line with a date. */
  lineOf(token: number): number {
    return this.#stamps[token]!.line;
  }

  days(): Day[] {
    const isDayFirst = this.#isDayFirst();
    return this.#stamps.map(({ text, line, date, time }) => {
      if (typeof date === "number") return dayAt(date, time, this.#zone);
      const { first, second, year } = date;
      const day = isDayFirst ? dayOfCivil(year, second, first) : dayOfCivil(year, first, second);
      if (day !== undefined) return dayAt(day, time, this.#zone);
      throw this.#fault(`${show(text)} is not a date with the ${isDayFirst ? "day" : "month"} first`, line);
    });
  }

  #isDayFirst(): boolean {
    if (this.#format !== undefined) return this.#format === "DD/MM/YYYY";
    const find = (is: (date: Undecided) => boolean) =>
      this.#stamps.find(({ date }) => typeof date !== "number" && is(date));
    const dayFirst = find(({ first }) => first > 12);
    const monthFirst = find(({ second }) => second > 12);
    if (dayFirst && monthFirst) {
      const lines = `${show(dayFirst.text)} (line ${dayFirst.line}) is day first, ${show(monthFirst.text)} (line ${monthFirst.line}) month first`;
      throw this.#fault(`day and month change places: ${lines}`, Math.max(dayFirst.line, monthFirst.line));
    }
    const ambiguous = find(({ first, second }) => first !== second);
    if (ambiguous && !dayFirst && !monthFirst)
      throw this.#fault(
        `${show(ambiguous.text)} can be read day first or month first, and no date of the column shows which; name the format with --date-format DD/MM/YYYY or MM/DD/YYYY, over HTTP date_format`,
        ambiguous.line,
      );
    return dayFirst !== undefined;
  }

  #readEpoch(text: string, line: number): Stamp {
    const seconds = EPOCH.exec(text)![1]!.length;
    const milliseconds = Number(text.slice(0, seconds)) * 1_000 + Number(text.slice(seconds, seconds + 3));
    const midnight = /[1-9]/.test(text.slice(seconds + 3)) ? Number.NaN : dayOfEpoch(milliseconds);
    const date = Number.isNaN(midnight) ? this.#zone?.(milliseconds) : midnight;
    if (date === undefined) throw this.#fault(`${show(text)} ${NO_MIDNIGHT}`, line);
    return { text, line, date, time: undefined };
  }

  #fault(message: string, line: number): MucastError {
    const source = this.#source;
    return new MucastError("invalid_data", `${source}: line ${line}: ${message}`, { source, line });
  }
}

/** What a text that is no date may mean. */
function hint(text: string): string {
  const write = "write dates as YYYY-MM-DD";
  if (SERIAL.test(text))
    return `; as a day number of a spreadsheet it would be ${formatDay(Math.floor(Number(text)) - SERIAL_DAY_ZERO)}: ${write}`;
  if (/^\d{1,2}[-/. ]\w{1,9}[-/. ]\d\d$/.test(text))
    return `; a year of two digits may be of either century: ${write}`;
  return "";
}
