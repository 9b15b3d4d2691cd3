import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerPrices } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { isPrice } from "./price-dates.ts";

/** The advice on a window without prices. */
export const OTHER_WINDOW = "Correct `start` and `end`, or give prices of these dates.";
const LEARNING_END =
  "Move `Learning_end` of the blob, or `learning_end` of the request (--learning-end), into the window, or leave it out.";

/** The window of a job. Dates outside [start, end] do not exist for it. */
export interface ResolvedWindow {
  readonly start: Day;
  readonly end: Day;
  /** Absent if the request has no `Learning_end`. */
  readonly learningEnd?: Day;
  /** Last day on which a label that is learned may be known: `learningEnd` if there is one, else `end`. */
  readonly cut: Day;
  /** The number of closes between a row's close and the close at which its return begins; absent for 0. */
  readonly delay?: number;
}

/**
 * Fills in what the data-extraction blob omits and checks the rest.
 * @param requested the bounds in the blob.
 * @param prices every ticker of the blob, in any order; read once, and only if a bound is missing.
 * @param source the blob's name, for errors.
 * @returns the window, and a `window_defaulted` warning for each bound that was missing.
 * @throws MucastError `invalid_data` if start > end or `Learning_end` is outside the window; `insufficient_history` if a bound is missing
 *   and no price date can replace it.
 */
export function resolveWindow(
  requested: RequestedWindow,
  prices: Iterable<TickerPrices>,
  source: string,
): { window: ResolvedWindow; warnings: Warning[] } {
  const { start: givenStart, end: givenEnd, learningEnd } = requested;
  if (givenStart !== undefined && givenEnd !== undefined && givenStart > givenEnd) {
    throw new MucastError(
      "invalid_data",
      `${source}: the window starts on ${formatDay(givenStart)}, after its end ${formatDay(givenEnd)}`,
      { source, path: "start", value: formatDay(givenStart), end: formatDay(givenEnd) },
    );
  }
  const warnings: Warning[] = [];
  let start = givenStart;
  let end = givenEnd;
  if (start === undefined || end === undefined) {
    const span = priceSpan(prices);
    start ??= defaulted("start", "first", span?.first, warnings, source);
    end ??= defaulted("end", "last", span?.last, warnings, source);
    if (start > end) throw noPriceInWindow(start, end, source);
  }
  if (learningEnd !== undefined && (learningEnd < start || learningEnd > end)) {
    throw new MucastError(
      "invalid_data",
      `Learning_end ${formatDay(learningEnd)} is outside the window ${formatDay(start)} to ${formatDay(end)} of ${source}`,
      { source, path: "Learning_end", value: formatDay(learningEnd), advice: LEARNING_END },
    );
  }
  const window = { start, end, cut: learningEnd ?? end };
  return { window: learningEnd === undefined ? window : { ...window, learningEnd }, warnings };
}

function defaulted(
  bound: "start" | "end",
  which: "first" | "last",
  day: Day | undefined,
  warnings: Warning[],
  source: string,
): Day {
  if (day === undefined) {
    throw new MucastError(
      "insufficient_history",
      `${source}: no ticker has a price that could replace the missing ${bound}`,
      { source, path: bound, advice: "Give a data-extraction blob with prices." },
    );
  }
  warnings.push({
    code: "window_defaulted",
    message: `The data-extraction blob gives no ${bound}; the ${which} price date of any ticker, ${formatDay(day)}, was used.`,
  });
  return day;
}

function noPriceInWindow(start: Day, end: Day, source: string): MucastError {
  return new MucastError(
    "insufficient_history",
    `${source}: no price date is in the window; with the missing bound filled in from the prices ` +
      `it would run from ${formatDay(start)} to ${formatDay(end)}`,
    { source, advice: OTHER_WINDOW },
  );
}

/** First and last price date of any ticker, or undefined if there is no price at all. */
function priceSpan(prices: Iterable<TickerPrices>): { first: Day; last: Day } | undefined {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { days, prices: values } of prices) {
    const head = values.findIndex(isPrice);
    if (head < 0) continue;
    first = Math.min(first, days[head]!);
    last = Math.max(last, days[values.findLastIndex(isPrice)]!);
  }
  return first <= last ? { first, last } : undefined;
}
