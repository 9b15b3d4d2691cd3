import type { DateFormat } from "../contract/config/input-formats.ts";
import type { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { type Day, dayOfCivil, formatDay } from "../contract/market/dates.ts";
import { dayAt, dayOfEpoch, isTime, NO_MIDNIGHT, type ZoneCalendar } from "../ingest/date-text.ts";
import { lineFault } from "./csv-records.ts";

export interface DateOptions {
  /** Of the times of day; without it, only midnight has a date. */
  readonly zone?: ZoneCalendar | undefined;
  /** By default the dates of the column must show it. */
  readonly dateFormat?: DateFormat | undefined;
}

interface DateCell {
  readonly text: string;
  readonly line: number;
}

/** How dates are written, each perhaps with a time behind it. */
const DATE = new RegExp(
  `^(?:${[
    String.raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)`,
    String.raw`(?<year>\d{4})[-/.](?<month>\d\d?)[-/.](?<day>\d\d?)`,
    String.raw`(?<first>\d\d?)[-/.](?<second>\d\d?)[-/.](?<year>\d{4})`,
    String.raw`(?<day>\d\d?)[- ]?(?<month>[A-Za-z]{3,9})\.?[-, ]*(?<year>\d{4})`,
    String.raw`(?<month>[A-Za-z]{3,9})\.?[- ](?<day>\d\d?)(?:, ?|[- ])(?<year>\d{4})`,
  ].join("|")})(?<time>[T ].*)?$`,
);
/** Seconds since 1970, from 1973 to 2286, or milliseconds, microseconds or nanoseconds. */
const EPOCH = /^(\d{9,10})((?:\d{3}){0,3})$/;
const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);

export function isDate(text: string): boolean {
  return DATE.test(text) || EPOCH.test(text);
}

/**
 * The dates of a column, decided by all of its texts: only another one may show whether 3/4/2020 is in March or in April.
 * @throws MucastError invalid_data, with the line, for a text that is no date or may be two.
 */
export function readDates(source: string, cells: readonly DateCell[], options: DateOptions): Day[] {
  const { zone, dateFormat } = options;
  const fault = ({ text, line }: DateCell, what: string) =>
    lineFault(source, line, `line ${line}: ${show(text)} ${what}`);
  const isDayFirst = (dateFormat ?? findFormat(cells, fault)) === "DD/MM/YYYY";
  return cells.map((cell) => {
    const { text } = cell;
    const [, seconds, rest = ""] = EPOCH.exec(text) ?? [];
    if (seconds !== undefined) {
      const milliseconds = Number(seconds) * 1_000 + Number(rest.slice(0, 3));
      const isWhole = Number(rest.slice(3)) === 0;
      const midnight = isWhole ? dayOfEpoch(milliseconds) : Number.NaN;
      const day = Number.isNaN(midnight) ? zone?.(milliseconds) : midnight;
      if (day === undefined) throw fault(cell, NO_MIDNIGHT);
      return day;
    }
    const { year, month, day, first, second, time } = DATE.exec(text)?.groups ?? {};
    const [monthText, dayText] =
      month !== undefined ? [month, day] : isDayFirst ? [second, first] : [first, second];
    const monthNumber =
      Number(monthText) || MONTHS.findIndex((name) => name.startsWith(`${monthText}`.toLowerCase())) + 1;
    const date = dayOfCivil(Number(year), monthNumber, Number(dayText));
    if (date === undefined || (time !== undefined && !isTime(time)))
      throw fault(cell, `is not a date${hint(text)}`);
    const at = dayAt(date, time, zone);
    if (Number.isNaN(at)) throw fault(cell, NO_MIDNIGHT);
    return at;
  });
}

/** @returns undefined if the order of day and month makes no difference. */
function findFormat(
  cells: readonly DateCell[],
  fault: (cell: DateCell, what: string) => MucastError,
): DateFormat | undefined {
  const found: { dayFirst?: DateCell; monthFirst?: DateCell; ambiguous?: DateCell } = {};
  for (const cell of cells) {
    const { first, second } = DATE.exec(cell.text)?.groups ?? {};
    if (first === undefined || Number(first) === Number(second)) continue;
    if (Number(first) > 12) found.dayFirst ??= cell;
    else if (Number(second) > 12) found.monthFirst ??= cell;
    else found.ambiguous ??= cell;
  }
  const { dayFirst, monthFirst, ambiguous } = found;
  if (dayFirst && monthFirst) {
    const [before, after] = dayFirst.line < monthFirst.line ? [dayFirst, monthFirst] : [monthFirst, dayFirst];
    throw fault(
      after,
      `has the order of day and month of no date before it, such as ${show(before.text)} (line ${before.line})`,
    );
  }
  if (ambiguous && !dayFirst && !monthFirst)
    throw fault(
      ambiguous,
      "can be read day first or month first, and no date of the column shows which; name the format with --date-format DD/MM/YYYY or MM/DD/YYYY (over HTTP date_format)",
    );
  return dayFirst ? "DD/MM/YYYY" : monthFirst && "MM/DD/YYYY";
}

/** Spreadsheets count days from 1899-12-30; these are from 1954 to 2119. */
const SERIAL = /^[2-7]\d{4}(?:\.\d+)?$/;
const SERIAL_DAY_ZERO = 25_569;

/** What a text that is no date may mean. */
function hint(text: string): string {
  if (SERIAL.test(text)) {
    const day = formatDay(Math.floor(Number(text)) - SERIAL_DAY_ZERO);
    return `; as a day number of a spreadsheet it would be ${day}: write dates as YYYY-MM-DD`;
  }
  const isShort = /^\d{1,2}[-/. ]\w{1,9}[-/. ]\d\d(?:[T ]|$)/.test(text);
  return isShort ? "; a year of two digits may be of either century: write dates as YYYY-MM-DD" : "";
}
