import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay, MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { MAX_GAP_DAYS, sparseGapDays } from "../contract/market/ticker-series.ts";

interface DatedFile {
  readonly source: string;
  /** The first line with a date; undefined for a Parquet table. */
  readonly lineOf?: ((day: Day) => number | undefined) | undefined;
}

/**
 * Refuses prices of the future: such a date is mistyped, and a job would forecast as of that date.
 * @param dates at least one, ascending.
 */
export function checkNotFuture(dates: Int32Array, { source, lineOf }: DatedFile): void {
  const tomorrow = Math.floor(Date.now() / MILLISECONDS_PER_DAY) + 1;
  const last = dates.at(-1)!;
  if (last <= tomorrow) return;
  const line = lineOf?.(last);
  const message = `${at(line)}the last date, ${formatDay(last)}, is in the future; correct it, or leave it out with --end (over HTTP end)`;
  throw new MucastError("invalid_data", `${source}: ${message}`, {
    source,
    ...(line === undefined ? {} : { line }),
  });
}

export function loneDates(dates: Int32Array, { source, lineOf }: DatedFile): readonly string[] {
  if (dates.length < 3 || sparseGapDays(dates) !== undefined) return [];
  return [
    { name: "first", day: dates[0]!, neighbour: dates[1]!, next: "next" },
    { name: "last", day: dates.at(-1)!, neighbour: dates.at(-2)!, next: "previous" },
  ].flatMap(({ name, day, neighbour, next }) => {
    const gap = Math.abs(day - neighbour);
    if (gap <= MAX_GAP_DAYS) return [];
    return [
      `${source}: ${at(lineOf?.(day))}the ${name} date, ${formatDay(day)}, is ${gap} calendar days from the ${next} one, ${formatDay(neighbour)}; check that it is not mistyped`,
    ];
  });
}

function at(line: number | undefined): string {
  return line === undefined ? "" : `line ${line}: `;
}
