import type { OperationView } from "../contract/operation-view.ts";
import type { Snapshot, StoredEvent } from "../contract/stored-event.ts";
import { errorOf, MucastApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { sentEvents } from "./event-source.ts";
import { backoff, pause } from "./pause.ts";
import { SilenceWatch } from "./silence-watch.ts";

export interface FollowOptions {
  /** `seq` of the last event that is known already; the next one comes first. All of them by default. */
  readonly lastEventId?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The service says something at least every 15 s; after this long without a byte the connection counts as lost. */
const SILENCE_MS = 45_000;
/** Before a stream is opened again that has ended too early; the service may ask for another pause. */
const REOPEN_MS = 1_000;
const FAILURES_IN_A_ROW = 8;

/**
 * The events of an operation, up to and with the final one, over as many connections as it takes: each goes on after
 * the last event seen. Where events were missed that are no longer kept, a `snapshot` stands for them.
 *
 * @throws MucastApiError such as not_found; the last failure where eight connections in a row could not be opened;
 *   TypeError where one brings nothing, as behind a proxy that keeps an answer until it is whole; the signal's reason.
 */
export async function* followEvents(
  connection: Connection,
  id: string,
  { lastEventId, signal }: FollowOptions,
): AsyncGenerator<StoredEvent | Snapshot, void> {
  const place: Place = { after: lastEventId, reopen: REOPEN_MS, isOver: false };
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    const watch = new SilenceWatch(SILENCE_MS);
    try {
      for await (const event of eventsOnce(connection, id, place, watch, signal)) {
        yield event;
        if (endedBy(event) !== undefined) return;
      }
      if (place.isOver) return;
      failures = 0;
    } catch (error) {
      failures = watch.hasHeard ? 1 : failures + 1;
      const isRefused = error instanceof MucastApiError && error.status < 500 && error.status !== 429;
      if (signal?.aborted || isRefused || watch.isMute || failures >= FAILURES_IN_A_ROW) throw error;
    } finally {
      watch.pause();
    }
    await pause(failures === 0 ? place.reopen : backoff(failures), signal);
  }
}

/** The operation as it has ended, where an event says that. */
export function endedBy(event: StoredEvent | Snapshot): OperationView | undefined {
  if (event.type === "succeeded" || event.type === "failed" || event.type === "canceled") return event.data;
  return event.type === "snapshot" && hasEnded(event.data) ? event.data : undefined;
}

export function hasEnded({ status }: OperationView): boolean {
  return status === "Succeeded" || status === "Failed" || status === "Canceled";
}

/** Where a reader is. */
interface Place {
  after: number | undefined;
  /** Milliseconds. */
  reopen: number;
  /** The operation has ended, and there is no event after the last one seen. */
  isOver: boolean;
}

/** The events of one connection. */
async function* eventsOnce(
  connection: Connection,
  id: string,
  place: Place,
  watch: SilenceWatch,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredEvent | Snapshot, void> {
  const response = await connection.once({
    method: "GET",
    path: `/v1/operations/${encodeURIComponent(id)}/events`,
    headers: {
      accept: "text/event-stream",
      ...(place.after === undefined ? {} : { "last-event-id": String(place.after) }),
    },
    repeatable: true,
    signal: signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]),
  });
  if (!response.ok) throw await errorOf(response);
  place.isOver = response.status === 204;
  if (response.body === null) return;
  for await (const line of sentEvents(response.body, watch.heard)) {
    if ("retry" in line) {
      place.reopen = line.retry;
      continue;
    }
    const event = JSON.parse(line.data) as StoredEvent | Snapshot;
    place.after = event.seq;
    // However long the reader takes over it, the service is not silent.
    watch.pause();
    yield event;
    watch.resume();
  }
}
