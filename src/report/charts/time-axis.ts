import { scaleUtc } from "d3-scale";
import { type Day, formatDay, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import type { AxisLabel } from "./plot.ts";

/** The maximum number of labels on a time axis. */
const MAX_LABELS = 6;

/** The starts of months, quarters or years between two days; for a span without two such starts, its two ends. */
export function timeLabels(first: Day, last: Day): AxisLabel[] {
  if (first === last) return [{ at: 0.5, text: formatDay(first) }];
  const scale = scaleUtc([first * MILLISECONDS_PER_DAY, last * MILLISECONDS_PER_DAY], [0, 1]);
  const starts = monthStarts(scale);
  if (starts.length < 2) {
    return [
      { at: 0, text: formatDay(first) },
      { at: 1, text: formatDay(last) },
    ];
  }
  const isYearly = starts.every((date) => date.getUTCMonth() === 0);
  return starts.map((date, i) => ({
    at: scale(date),
    text: date.toISOString().slice(0, isYearly ? 4 : 7),
    isSpare: !isYearly && starts.length > 4 && i % 2 === 1,
  }));
}

/** As many labels as there is space for. */
function monthStarts(scale: ReturnType<typeof scaleUtc<number>>): Date[] {
  for (let count = MAX_LABELS; count > 0; count--) {
    const ticks = scale.ticks(count);
    if (ticks.length <= MAX_LABELS && ticks.every((date) => date.getUTCDate() === 1)) return ticks;
  }
  return [];
}
