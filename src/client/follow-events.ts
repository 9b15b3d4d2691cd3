import type { OperationView } from "../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
import { errorOf, MucastApiError, objectIn, partsOf } from "./api-error.ts";
import { backoff, type Connection, pause } from "./connection.ts";

export interface FollowOptions {
  /** `seq` of the last known event; the stream starts with the next one. All events by default. */
  readonly lastEventId?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The service sends something every 15 s at least; after this long without a byte, the connection counts as lost. */
const SILENCE_MS = 45_000;
/** A connection that has lasted this long counts as a stream of events, even if it sent none. */
const ESTABLISHED_MS = 15_000;
/** The pause before a stream that ended too early is reopened; the service may ask for a different one, of at most a minute. */
const REOPEN_MS = { first: 1_000, most: 60_000 };
/** With the pauses between them, three quarters of a minute: longer than a restart of the service, and a lease. */
const MAX_FAILURES_IN_A_ROW = 12;

/** The service sends at most 256 KiB in one event. */
const MAX_EVENT_LENGTH = 2 ** 20;

/**
 * The events of an operation, up to and including the final one, over as many connections as it takes: each resumes after the
 * last event seen. A `snapshot` replaces events that are no longer kept; the kept ones follow it.
 *
 * @throws MucastApiError such as not_found; the last failure if twelve connections in a row could not be opened, or ended early
 * without an event; TypeError if an answer is not a stream of events, or sends nothing, as behind a proxy that buffers whole
 * answers; the signal's reason.
 */
export async function* followEvents(
  connection: Connection,
  id: string,
  { lastEventId, signal }: FollowOptions,
): AsyncGenerator<StoredEvent | Snapshot, void> {
  const state: StreamState = { after: lastEventId, reopen: REOPEN_MS.first, isOver: false };
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    const watch = new SilenceWatch();
    const began = performance.now();
    let failure: unknown = new TypeError(
      "the stream of events ends at once, again and again, without an event",
    );
    let hasBrought = false;
    try {
      for await (const event of eventsOnce(connection, id, state, watch, signal)) {
        hasBrought = true;
        yield event;
        if (endedBy(event) !== undefined) return;
      }
      if (state.isOver) return;
    } catch (error) {
      const isRefused = error instanceof MucastApiError && error.status < 500 && error.status !== 429;
      if (signal?.aborted || isRefused || watch.isMute || error instanceof NoEventStreamError) throw error;
      failure = error;
    } finally {
      watch.pause();
    }
    const hasLasted = watch.hasHeard && performance.now() - began > ESTABLISHED_MS;
    failures = hasBrought || hasLasted ? 0 : failures + 1;
    if (failures >= MAX_FAILURES_IN_A_ROW) throw failure;
    await pause(failures === 0 ? state.reopen : backoff(failures), signal);
  }
}

/** The ended operation, if an event is the final one. Kept events may follow a snapshot. */
export function endedBy(event: StoredEvent | Snapshot): OperationView | undefined {
  const { type } = event;
  return type === "succeeded" || type === "failed" || type === "canceled" ? event.data : undefined;
}

export function hasEnded({ status }: OperationView): boolean {
  return status === "Succeeded" || status === "Failed" || status === "Canceled";
}

/** The answer is not a stream of events of mucast. */
class NoEventStreamError extends TypeError {}

/** What followEvents keeps between two connections. */
interface StreamState {
  /** `seq` of the last event seen. */
  after: number | undefined;
  /** Milliseconds before the stream is reopened. */
  reopen: number;
  /** The operation has ended, and no event follows the last one seen. */
  isOver: boolean;
}

/** The events of one connection. */
async function* eventsOnce(
  connection: Connection,
  id: string,
  state: StreamState,
  watch: SilenceWatch,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredEvent | Snapshot, void> {
  const response = await connection.once({
    method: "GET",
    path: `/v1/operations/${encodeURIComponent(id)}/events`,
    headers: {
      accept: "text/event-stream",
      ...(state.after === undefined ? {} : { "last-event-id": String(state.after) }),
    },
    signal: signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]),
  });
  if (!response.ok) throw await errorOf(response);
  state.isOver = response.status === 204;
  if (response.body === null) return;
  const type = response.headers.get("content-type") ?? "no content type";
  if (!/^text\/event-stream\b/i.test(type)) {
    await response.body.cancel();
    throw new NoEventStreamError(`the response is not an event stream: it has ${type.slice(0, 100)}`);
  }
  for await (const line of sentEvents(response.body, watch.heard)) {
    if ("retry" in line) {
      state.reopen = Math.min(line.retry, REOPEN_MS.most);
      continue;
    }
    const event = eventIn(line.data);
    state.after = event.seq;
    // However long the reader takes to handle it, the service is not silent.
    watch.pause();
    yield event;
    watch.resume();
  }
}

function eventIn(data: string): StoredEvent | Snapshot {
  const event = objectIn(data) as StoredEvent | Snapshot | undefined;
  if (typeof event?.seq === "number" && typeof event.type === "string") return event;
  throw new TypeError(`the event stream contains an invalid event: ${data.slice(0, 100)}`);
}

/** A message of a server-sent event stream, or the milliseconds that the server asks for. */
type SentLine = { readonly data: string } | { readonly retry: number };

/** @param onBytes called for every part that arrives, comments too. */
async function* sentEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<SentLine, void> {
  let data: string[] = [];
  let length = 0;
  for await (const line of linesOf(body, onBytes)) {
    if (line === "") {
      if (data.length > 0) yield { data: data.join("\n") };
      data = [];
      length = 0;
      continue;
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "data") {
      data.push(value ?? "");
      length += line.length;
      requireEvent(length);
    } else if (field === "retry" && /^\d+$/.test(value ?? "")) yield { retry: Number(value) };
  }
}

/** A truncated line at the end is dropped: the next connection sends its event again. */
async function* linesOf(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  /** What has arrived of the present line. */
  let begun: string[] = [];
  let length = 0;
  let endsWithReturn = false;
  for await (const part of partsOf(body)) {
    onBytes();
    const text = decoder.decode(part, { stream: true });
    if (text === "") continue;
    // The second half of a line end whose first half was in the previous part.
    const lines = (endsWithReturn ? text.replace(/^\n/, "") : text).split(/\r\n|\n|\r/);
    endsWithReturn = text.endsWith("\r");
    for (const [k, line] of lines.entries()) {
      if (k > 0) {
        yield begun.join("");
        begun = [];
        length = 0;
      }
      begun.push(line);
      length += line.length;
    }
    requireEvent(length);
  }
}

function requireEvent(length: number): void {
  if (length > MAX_EVENT_LENGTH)
    throw new NoEventStreamError(
      `the event stream contains an event of more than ${MAX_EVENT_LENGTH} characters`,
    );
}

/** Aborts its signal once nothing has arrived for a time; the clock stops while it is paused. */
class SilenceWatch {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  hasHeard = false;

  constructor() {
    this.resume();
  }

  /** Whether the time has passed without anything arriving. */
  get isMute(): boolean {
    return this.signal.aborted && !this.hasHeard;
  }

  readonly heard = (): void => {
    this.hasHeard = true;
    this.resume();
  };

  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Restarts the clock. */
  resume(): void {
    this.pause();
    const abort = () =>
      this.#controller.abort(new TypeError(`nothing was heard for ${SILENCE_MS / 1_000} s`));
    this.#timer = setTimeout(abort, SILENCE_MS);
  }
}
