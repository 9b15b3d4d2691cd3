import { type Day, dayOfCivil, formatDay } from "../../contract/market/dates.ts";
import type { AxisLabel } from "./plot.ts";

/** At most so many words stand at an axis of time. */
const MOST_LABELS = 6;

/** Steps in months between two words: from months to decades. */
const STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

/** Starts of months or years between two days; of a span without such a start its two ends. */
export function timeLabels(first: Day, last: Day): AxisLabel[] {
  if (first === last) return [{ at: 0.5, text: formatDay(first) }];
  for (const step of STEPS) {
    const starts = monthStarts(first, last, step);
    if (starts.length > MOST_LABELS) continue;
    if (starts.length < 2) break;
    return starts.map((day, i) => ({
      at: (day - first) / (last - first),
      text: step < 12 ? formatDay(day).slice(0, 7) : formatDay(day).slice(0, 4),
      isSpare: step < 12 && starts.length > 4 && i % 2 === 1,
    }));
  }
  return [
    { at: 0, text: formatDay(first) },
    { at: 1, text: formatDay(last) },
  ];
}

function monthStarts(first: Day, last: Day, step: number): Day[] {
  const [year, month] = formatDay(first).split("-").map(Number) as [number, number];
  const starts: Day[] = [];
  const begin = Math.ceil((12 * year + month - 1) / step) * step;
  for (let at = begin; starts.length <= MOST_LABELS; at += step) {
    const day = dayOfCivil(Math.floor(at / 12), (at % 12) + 1, 1);
    if (day === undefined || day > last) break;
    if (day >= first) starts.push(day);
  }
  return starts;
}
