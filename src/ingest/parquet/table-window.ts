import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { invalid, quote } from "../blob-errors.ts";
import { dayOfEpoch, dayOfText, whyNoDate } from "../dates/date-text.ts";
import { boundOf } from "../dates/window-bounds.ts";
import { positionOf, type Reading } from "../reading.ts";
import type { Footer } from "./footer.ts";
import { frameAttributes } from "./pandas-index.ts";

/** The window of a table of prices: entries of its metadata, or attributes of a pandas DataFrame, under the names that JSON has. */
export function windowOf(reading: Reading, { metadata }: Footer): RequestedWindow {
  if (reading.kind === "features") return {};
  const days = new Map<keyof RequestedWindow, { readonly day: Day; readonly name: string }>();
  for (const [name, value] of [...metadata, ...Object.entries(frameAttributes(metadata))]) {
    const bound = boundOf(name);
    if (bound === undefined || value === null) continue;
    const position = positionOf(reading, 0, undefined, name);
    if (typeof value !== "string" && typeof value !== "number") throw invalid(position, "is not a date");
    const day = typeof value === "number" ? dayOfEpoch(value) : dayOfText(value);
    if (Number.isNaN(day)) throw invalid(position, `${quote(String(value))} ${whyNoDate(value)}`);
    const other = days.get(bound);
    if (other !== undefined && other.day !== day) {
      throw invalid(position, `is ${formatDay(day)}, but ${quote(other.name)} is ${formatDay(other.day)}`);
    }
    days.set(bound, { day, name });
  }
  return Object.fromEntries([...days].map(([bound, { day }]) => [bound, day]));
}
