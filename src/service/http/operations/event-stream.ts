import { once } from "node:events";
import type { PassThrough } from "node:stream";
import type { Snapshot, StoredEvent } from "../../../contract/api/stored-event.ts";
import { STALL_MILLISECONDS } from "../server/request-abort.ts";

export type SentEvent = StoredEvent | Snapshot;

export const EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8";
const RECONNECT_MILLISECONDS = 2_000;
const HEARTBEAT_MILLISECONDS = 15_000;

/** Milliseconds between two comments, and until a reader who takes no event is given up. */
export interface Pace {
  readonly heartbeat?: number;
  readonly stall?: number;
}

/** An event as a stream carries it: JSON has no raw line breaks, so it is one line. */
export function eventText(event: SentEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * Writes events into a stream, no faster than it is read, with a comment now and then, and ends it after the last
 * one. Never rejects for a reader who has gone (`signal`).
 */
export async function pumpEvents(
  first: readonly SentEvent[],
  following: AsyncIterable<SentEvent>,
  stream: PassThrough,
  signal: AbortSignal,
  { heartbeat = HEARTBEAT_MILLISECONDS, stall = STALL_MILLISECONDS }: Pace = {},
): Promise<void> {
  const beat = setInterval(() => {
    if (!stream.writableNeedDrain) stream.write(":\n\n");
  }, heartbeat);
  try {
    stream.write(`retry: ${RECONNECT_MILLISECONDS}\n\n`);
    for (const event of first) await write(stream, event, signal, stall);
    for await (const event of following) await write(stream, event, signal, stall);
    stream.end();
  } catch (error) {
    if (!signal.aborted) throw error;
    stream.end();
  } finally {
    clearInterval(beat);
  }
}

async function write(
  stream: PassThrough,
  event: SentEvent,
  signal: AbortSignal,
  stall: number,
): Promise<void> {
  signal.throwIfAborted();
  if (stream.write(eventText(event))) return;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), stall);
  try {
    await once(stream, "drain", { signal: AbortSignal.any([signal, stalled.signal]) });
  } catch (error) {
    throw stalled.signal.aborted ? new Error(`its reader took nothing for ${stall} ms`) : error;
  } finally {
    clearTimeout(timer);
  }
}
