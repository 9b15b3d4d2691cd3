import { invalidRequest } from "../../contract/errors/faults.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";

/** The bounds of a window, by their name in a payload and in errors about a blob. */
const BOUNDS = [
  ["start", "start", "start"],
  ["end", "end", "end"],
  ["learningEnd", "learning_end", "Learning_end"],
] as const;

/**
 * The window of a blob, with the bounds that the request adds.
 * @param source the blob's name, for errors.
 * @throws MucastError invalid_request with every bound that differs from the blob's own.
 */
export function jobWindow(
  own: RequestedWindow,
  requested: RequestedWindow | undefined,
  source: string,
): RequestedWindow {
  const faults = BOUNDS.flatMap(([bound, member, name]) => {
    const [asked, found] = [requested?.[bound], own[bound]];
    if (asked === undefined || found === undefined || asked === found) return [];
    const message = `is ${formatDay(asked)}, but ${name} in ${source} is ${formatDay(found)}`;
    return [{ path: member, message }];
  });
  if (faults.length > 0) throw invalidRequest(faults);
  return { ...own, ...requested };
}

export function recordedBounds(requested: RequestedWindow) {
  const bounds = BOUNDS.map(([bound, member]) => {
    const day = requested[bound];
    return [member, day === undefined ? null : formatDay(day)] as const;
  });
  return Object.fromEntries(bounds);
}
