import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { type Day, dayOfCivil, formatDay, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { dayAt, isTime, NO_MIDNIGHT, type ZoneCalendar } from "../../ingest/date-text.ts";

interface Met {
  readonly text: string;
  readonly line: number;
}

/** A date such as `3/4/2020`, whose month may be 3 or 4. */
interface Undecided {
  readonly first: number;
  readonly second: number;
  readonly year: number;
}

interface Stamp {
  readonly date: Day | Undecided;
  /** From its separator on. */
  readonly time: string | undefined;
}

const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
const yearFirst = (year: string, month: string, day: string) =>
  dayOfCivil(Number(year), Number(month), Number(day));
/** How dates are written: three parts, perhaps a time, and how the parts are read. */
const FORMS: readonly (readonly [
  RegExp,
  (...parts: [string, string, string]) => Stamp["date"] | undefined,
])[] = [
  [/^(\d{4})(\d{2})(\d{2})([T ].*)?$/, yearFirst],
  [/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})([T ].*)?$/, yearFirst],
  [/^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})([T ].*)?$/, undecided],
  [
    /^(\d{1,2})[- ]?([A-Za-z]{3,9})\.?[-, ]*(\d{4})([T ].*)?$/,
    (day, month, year) => dayOfCivil(Number(year), monthOf(month), Number(day)),
  ],
  [
    /^([A-Za-z]{3,9})\.?[- ](\d{1,2})(?:,[ ]?|[- ])(\d{4})([T ].*)?$/,
    (month, day, year) => dayOfCivil(Number(year), monthOf(month), Number(day)),
  ],
];

/**
 * The dates of one column. The order of day and month may show only in a later line, so the column keeps each distinct text once, and turns
 * the texts into days after its end.
 */
export class DateColumn {
  readonly #source: string;
  readonly #zone: ZoneCalendar | undefined;
  readonly #tokens = new Map<string, number>();
  readonly #stamps: Stamp[] = [];
  readonly #met: Met[] = [];
  #dayFirst: Met | undefined;
  #monthFirst: Met | undefined;
  #ambiguous: Met | undefined;

  /** @param zone of the times of day; without it, only midnight has a date. */
  constructor(source: string, zone?: ZoneCalendar) {
    this.#source = source;
    this.#zone = zone;
  }

  take(text: string, line: number): number {
    const known = this.#tokens.get(text);
    if (known !== undefined) return known;
    const stamp = stampOf(text.trim());
    if (stamp === undefined)
      throw this.#fault(`line ${line}: ${show(text)} is not a date${hint(text.trim())}`, line);
    const { date, time } = stamp;
    if (Number.isNaN(dayAt(0, time, this.#zone)))
      throw this.#fault(`line ${line}: ${show(text)} ${NO_MIDNIGHT}`, line);
    const met = { text, line };
    if (typeof date !== "number") this.#weigh(date, met);
    this.#tokens.set(text, this.#stamps.length);
    this.#met.push(met);
    return this.#stamps.push(stamp) - 1;
  }

  lineOf(token: number): number {
    return this.#met[token]!.line;
  }

  days(): Day[] {
    if (this.#dayFirst && this.#monthFirst) {
      throw this.#fault(
        `day and month change places: ${quoted(this.#dayFirst)} is day first, ${quoted(this.#monthFirst)} month first`,
        Math.max(this.#dayFirst.line, this.#monthFirst.line),
      );
    }
    if (this.#ambiguous && !this.#dayFirst && !this.#monthFirst) {
      const message = `${quoted(this.#ambiguous)} can be read day first or month first, and no date in the column shows which`;
      throw this.#fault(`${message}; write dates as YYYY-MM-DD`, this.#ambiguous.line);
    }
    return this.#stamps.map(({ date, time }, token) => {
      if (typeof date === "number") return dayAt(date, time, this.#zone);
      const [month, day] = this.#dayFirst ? [date.second, date.first] : [date.first, date.second];
      const resolved = dayOfCivil(date.year, month, day);
      if (resolved === undefined) {
        throw this.#fault(`${quoted(this.#met[token]!)} is not a date`, this.#met[token]!.line);
      }
      return dayAt(resolved, time, this.#zone);
    });
  }

  #weigh(date: Undecided, met: Met): void {
    if (date.first > 12) this.#dayFirst ??= met;
    else if (date.second > 12) this.#monthFirst ??= met;
    else if (date.first !== date.second) this.#ambiguous ??= met;
  }

  #fault(message: string, line: number): MucastError {
    return new MucastError("invalid_data", `${this.#source}: ${message}`, { source: this.#source, line });
  }
}

function quoted(met: Met): string {
  return `${show(met.text)} (line ${met.line})`;
}

/** Day 0 is 1970-01-01; spreadsheets count from 1899-12-30. */
const SPREADSHEET_DAY_ZERO = 25_569;
const WRITE = "write dates as YYYY-MM-DD";

/** A guess at what the author of a text that is not a date meant. */
function hint(text: string): string {
  const number = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  // 1954 to 2119.
  if (number >= 20_000 && number < 80_000) {
    const day = formatDay(Math.floor(number) - SPREADSHEET_DAY_ZERO);
    return `; as a day number of a spreadsheet it would be ${day}: ${WRITE}`;
  }
  for (const [unit, milliseconds] of [
    ["seconds", number * 1_000],
    ["milliseconds", number],
    ["nanoseconds", number / 1e6],
  ] as const) {
    // 1973 to 2128. Eight digits are more likely an invalid date.
    if (!(milliseconds >= 1e11 && milliseconds < 5e12)) continue;
    const day = formatDay(Math.floor(milliseconds / MILLISECONDS_PER_DAY));
    return `; as ${unit} since 1970 it would be ${day}: ${WRITE}`;
  }
  if (/^\d{1,2}[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2}(?:[T ]|$)/.test(text)) {
    return `; a year of two digits may be of either century: ${WRITE}`;
  }
  return "";
}

/** @returns undefined if `text` is not a date in any reading. */
export function stampOf(text: string): Stamp | undefined {
  for (const [form, read] of FORMS) {
    const [, first, second, third, time] = form.exec(text) ?? [];
    if (first === undefined) continue;
    const date = read(first, second!, third!);
    return date === undefined || (time !== undefined && !isTime(time)) ? undefined : { date, time };
  }
  return undefined;
}

/** Month 1 to 12 by its English name or at least its first three letters; 0 if there is none. */
function monthOf(name: string): number {
  return MONTHS.findIndex((month) => month.startsWith(name.toLowerCase())) + 1;
}

function undecided(...parts: readonly [string, string, string]): Undecided | undefined {
  const [first, second, year] = parts.map(Number) as [number, number, number];
  const possible = dayOfCivil(year, first, second) ?? dayOfCivil(year, second, first);
  return possible === undefined ? undefined : { first, second, year };
}
