import { once } from "node:events";
import type { PassThrough } from "node:stream";
import type { Snapshot, StoredEvent } from "../../../contract/api/stored-event.ts";

export type SentEvent = StoredEvent | Snapshot;

export const EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8";
const RECONNECT_MILLISECONDS = 2_000;
const HEARTBEAT_MILLISECONDS = 15_000;

interface StreamTiming {
  /** Milliseconds between two comments. */
  readonly heartbeat?: number;
}

/** An event in the format of a stream. JSON text has no raw line breaks, so `data` is one line. */
export function eventText(event: SentEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * Writes events into a stream, no faster than the reader accepts them, and ends the stream after the last one. A comment every 15 s
 * keeps the connection open.
 *
 * Rejects where `following` fails. Once `signal` aborts, it ends the stream and does not reject.
 */
export async function pumpEvents(
  first: readonly SentEvent[],
  following: AsyncIterable<SentEvent>,
  stream: PassThrough,
  signal: AbortSignal,
  { heartbeat = HEARTBEAT_MILLISECONDS }: StreamTiming = {},
): Promise<void> {
  const beat = setInterval(() => {
    if (!stream.writableNeedDrain) stream.write(":\n\n");
  }, heartbeat);
  try {
    stream.write(`retry: ${RECONNECT_MILLISECONDS}\n\n`);
    for (const event of first) await write(stream, event, signal);
    for await (const event of following) await write(stream, event, signal);
    stream.end();
  } catch (error) {
    if (!signal.aborted) throw error;
    stream.end();
  } finally {
    clearInterval(beat);
  }
}

async function write(stream: PassThrough, event: SentEvent, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!stream.write(eventText(event))) await once(stream, "drain", { signal });
}
