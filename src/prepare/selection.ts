import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { nearestName } from "../contract/errors/nearest-name.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerPrices } from "../contract/market/ticker-series.ts";
import { dayOfText, type ZoneCalendar, zoneCalendar } from "../ingest/date-text.ts";

export interface PrepareWindow {
  readonly start: Day;
  readonly end: Day;
  readonly learningEnd?: Day;
}

/** The window of the options, and for bounds that they omit of the file; by default from the first to the last price date. */
export function windowOf(
  requested: { start?: string | undefined; end?: string | undefined; learningEnd?: string | undefined },
  days: Int32Array,
  file: RequestedWindow & { readonly source: string },
): PrepareWindow {
  const { source } = file;
  const start = boundOf("start", requested.start, file.start, source) ?? days[0]!;
  const end = boundOf("end", requested.end, file.end, source) ?? days.at(-1)!;
  const learningEnd = boundOf("learning_end", requested.learningEnd, file.learningEnd, source);
  if (!days.some((day) => day >= start && day <= end)) {
    const has = `the prices run from ${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`;
    throw invalid("start", `no price date is between ${formatDay(start)} and ${formatDay(end)}; ${has}`);
  }
  if (learningEnd === undefined) return { start, end };
  if (learningEnd < start || learningEnd > end) {
    const message = `${formatDay(learningEnd)} is outside ${formatDay(start)} to ${formatDay(end)}`;
    throw invalid("learning_end", message);
  }
  return { start, end, learningEnd };
}

function boundOf(
  path: string,
  text: string | undefined,
  ofFile: Day | undefined,
  source: string,
): Day | undefined {
  const day = dayOf(text, path);
  if (day === undefined || ofFile === undefined || day === ofFile) return day ?? ofFile;
  throw invalid(path, `${formatDay(day)} differs from ${formatDay(ofFile)} in the metadata of ${source}`);
}

export function zoneOf(name: string | undefined): ZoneCalendar | undefined {
  try {
    return name === undefined ? undefined : zoneCalendar(name);
  } catch {
    throw invalid("time_zone", `${show(name)} is not a time zone; write a name such as Europe/Berlin`);
  }
}

function dayOf(text: string | undefined, path: string): Day | undefined {
  if (text === undefined) return undefined;
  const day = dayOfText(text);
  if (Number.isNaN(day)) throw invalid(path, `${show(text)} is not a date; write YYYY-MM-DD`);
  return day;
}

export function tickersOf(
  requested: readonly string[] | undefined,
  all: readonly TickerPrices[],
): readonly TickerPrices[] {
  if (requested === undefined) return all;
  if (requested.length === 0) throw invalid("tickers", "the list is empty");
  const names = all.map(({ ticker }) => ticker);
  for (const ticker of requested) {
    if (names.includes(ticker)) continue;
    const suggestion = nearestName(ticker, names);
    throw invalid(
      "tickers",
      `${show(ticker)} has no price${suggestion ? `; did you mean ${suggestion}?` : ""}`,
    );
  }
  return all.filter(({ ticker }) => requested.includes(ticker));
}

function invalid(path: string, message: string): MucastError {
  return new MucastError("invalid_request", `${path}: ${message}`, { path });
}
