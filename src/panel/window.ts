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
 * @param prices every ticker of the blob, in any order; read once, and only if a bound is missing.
 * @param source the blob's name, for errors.
 * @returns the window, and a `window_defaulted` warning for each bound that was missing.
 * @throws MucastError `invalid_data` if start > end or `Learning_end` is outside the window; `insufficient_history` if a bound is missing
 *   and no price date can replace it.
 */
export function resolveWindow(
  { learningEnd, ...requested }: RequestedWindow,
  prices: Iterable<TickerPrices>,
  source: string,
): { window: ResolvedWindow; warnings: Warning[] } {
  const isWhole = requested.start !== undefined && requested.end !== undefined;
  const span = isWhole ? undefined : priceSpan(prices);
  const warnings: Warning[] = [];
  const boundOf = (bound: "start" | "end", which: "first" | "last"): Day => {
    const day = requested[bound] ?? span?.[which];
    if (day === undefined) {
      throw new MucastError(
        "insufficient_history",
        `${source}: no ticker has a price that could replace the missing ${bound}`,
        { source, path: bound, advice: "Give a data-extraction blob with prices." },
      );
    }
    if (requested[bound] === undefined) {
      warnings.push({
        code: "window_defaulted",
        message: `The data-extraction blob gives no ${bound}; the ${which} price date of any ticker, ${formatDay(day)}, was used.`,
      });
    }
    return day;
  };
  const [start, end] = [boundOf("start", "first"), boundOf("end", "last")];
  if (start > end && isWhole) {
    throw new MucastError(
      "invalid_data",
      `${source}: the window starts on ${formatDay(start)}, after its end ${formatDay(end)}`,
      { source, path: "start", value: formatDay(start), end: formatDay(end) },
    );
  }
  if (start > end) {
    throw new MucastError(
      "insufficient_history",
      `${source}: no price date is in the window; with the missing bound filled in from the prices ` +
        `it would run from ${formatDay(start)} to ${formatDay(end)}`,
      { source, advice: OTHER_WINDOW },
    );
  }
  if (learningEnd === undefined) return { window: { start, end, cut: end }, warnings };
  if (learningEnd < start || learningEnd > end) {
    throw new MucastError(
      "invalid_data",
      `Learning_end ${formatDay(learningEnd)} is outside the window ${formatDay(start)} to ${formatDay(end)} of ${source}`,
      { source, path: "Learning_end", value: formatDay(learningEnd), advice: LEARNING_END },
    );
  }
  return { window: { start, end, cut: learningEnd, learningEnd }, warnings };
}

/** First and last price date of any ticker; undefined if there is no price at all. */
function priceSpan(prices: Iterable<TickerPrices>): { readonly first: Day; readonly last: Day } | undefined {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { days, prices: values } of prices) {
    const head = values.findIndex(isPrice);
    if (head < 0) continue;
    first = Math.min(first, days[head]!);
    last = Math.max(last, days[values.findLastIndex(isPrice)]!);
  }
  return first <= last ? { first, last } : undefined;
}
