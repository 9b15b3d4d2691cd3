import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import {
  type Day,
  dayOfCivil,
  formatDay,
  MILLISECONDS_PER_DAY,
  parseDay,
  TIME_PATTERN,
} from "../../contract/market/dates.ts";

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

const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
const TIME = `(?:${TIME_PATTERN})?$`;
const COMPACT = new RegExp(`^(\\d{4})(\\d{2})(\\d{2})${TIME}`);
const YEAR_FIRST = new RegExp(`^(\\d{4})[-/.](\\d{1,2})[-/.](\\d{1,2})${TIME}`);
const YEAR_LAST = new RegExp(`^(\\d{1,2})[-/.](\\d{1,2})[-/.](\\d{4})${TIME}`);
const DAY_MONTH_NAME = new RegExp(`^(\\d{1,2})[- ]?([A-Za-z]{3,9})\\.?[-, ]*(\\d{4})${TIME}`);
const MONTH_NAME_DAY = new RegExp(`^([A-Za-z]{3,9})\\.?[- ](\\d{1,2})(?:,[ ]?|[- ])(\\d{4})${TIME}`);

/**
 * The dates of one column. The order of day and month may show only in a later line, so the column keeps each distinct text once, and turns
 * the texts into days after its end.
 */
export class DateColumn {
  readonly #source: string;
  readonly #tokens = new Map<string, number>();
  readonly #dates: (Day | Undecided)[] = [];
  readonly #met: Met[] = [];
  #dayFirst: Met | undefined;
  #monthFirst: Met | undefined;
  #ambiguous: Met | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * @returns the token of the date: its index in the later result of `days()`.
   * @throws MucastError invalid_data if `text` is not a date in any reading.
   */
  take(text: string, line: number): number {
    const known = this.#tokens.get(text);
    if (known !== undefined) return known;
    const date = dateOf(text.trim());
    if (date === undefined)
      throw this.#fault(`line ${line}: ${show(text)} is not a date${hint(text.trim())}`, line);
    const met = { text, line };
    if (typeof date !== "number") this.#weigh(date, met);
    this.#tokens.set(text, this.#dates.length);
    this.#met.push(met);
    return this.#dates.push(date) - 1;
  }

  /** The text of a token, as in the file. */
  textOf(token: number): string {
    return this.#met[token]!.text;
  }

  /** The line of the first occurrence of a token. */
  lineOf(token: number): number {
    return this.#met[token]!.line;
  }

  /**
   * The day of every token.
   * @throws MucastError invalid_data if the order of day and month in slashed dates is not known, or changes within the
   * column.
   */
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
    return this.#dates.map((date, token) => {
      if (typeof date === "number") return date;
      const [month, day] = this.#dayFirst ? [date.second, date.first] : [date.first, date.second];
      const resolved = dayOfCivil(date.year, month, day);
      if (resolved === undefined) {
        throw this.#fault(`${quoted(this.#met[token]!)} is not a date`, this.#met[token]!.line);
      }
      return resolved;
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

function dateOf(text: string): Day | Undecided | undefined {
  const iso = parseDay(text);
  if (iso !== undefined) return iso;
  const yearFirst = COMPACT.exec(text) ?? YEAR_FIRST.exec(text);
  if (yearFirst) return dayOfCivil(Number(yearFirst[1]), Number(yearFirst[2]), Number(yearFirst[3]));
  const yearLast = YEAR_LAST.exec(text);
  if (yearLast) return undecided(Number(yearLast[1]), Number(yearLast[2]), Number(yearLast[3]));
  const named = DAY_MONTH_NAME.exec(text);
  if (named) return dayOfCivil(Number(named[3]), monthOf(named[2]!), Number(named[1]));
  const american = MONTH_NAME_DAY.exec(text);
  if (!american) return undefined;
  return dayOfCivil(Number(american[3]), monthOf(american[1]!), Number(american[2]));
}

/** Month 1 to 12 by its English name or at least its first three letters; 0 if there is none. */
function monthOf(name: string): number {
  return MONTHS.findIndex((month) => month.startsWith(name.toLowerCase())) + 1;
}

function undecided(first: number, second: number, year: number): Undecided | undefined {
  const possible = dayOfCivil(year, first, second) ?? dayOfCivil(year, second, first);
  return possible === undefined ? undefined : { first, second, year };
}
