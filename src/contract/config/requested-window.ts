import { z } from "zod";
import { parseDay } from "../market/dates.ts";
import type { RequestedWindow } from "../market/ticker-series.ts";

function bound(what: string) {
  return z.iso.date().optional().describe(`${what}, if the data-extraction blob does not say it.`);
}

/** The window of a job, for a data-extraction blob that does not have one, such as a Parquet table. */
export const requestedWindowSchema = z.strictObject({
  start: bound("First date of the window"),
  end: bound("Last date of the window"),
  learning_end: bound("Last date whose labels may be learned"),
});
export type WindowMembers = z.infer<typeof requestedWindowSchema>;

/** The window of members that passed the schema; undefined if none is given. */
export function requestedWindow({ start, end, learning_end }: WindowMembers): RequestedWindow | undefined {
  const days = { start, end, learningEnd: learning_end };
  const given = Object.entries(days).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, parseDay(text)!] as const],
  );
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
