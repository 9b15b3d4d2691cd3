import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { invalid } from "../blob-errors.ts";
import { boundOf, WindowBounds } from "../dates/window-bounds.ts";
import { positionOf, type Reading } from "../reading.ts";
import type { Footer } from "./footer.ts";
import { frameAttributes } from "./pandas-index.ts";

/** The window of a table of prices: entries of its metadata, or attributes of a pandas DataFrame, under the names that JSON has. */
export function windowOf(reading: Reading, { metadata }: Footer): RequestedWindow {
  if (reading.kind === "features") return {};
  const bounds = new WindowBounds(reading);
  for (const [name, value] of [...metadata, ...Object.entries(frameAttributes(metadata))]) {
    const bound = boundOf(name);
    if (bound === undefined || value === null) continue;
    const position = positionOf(reading, 0, undefined, name);
    if (typeof value !== "string" && typeof value !== "number") throw invalid(position, "is not a date");
    bounds.add(name, bound, value, position);
  }
  return bounds.window();
}
