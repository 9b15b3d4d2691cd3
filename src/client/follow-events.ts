import type { OperationView } from "../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
import { errorOf, MucastApiError, objectIn } from "./api-error.ts";
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

/** The answer is not a stream of events of mucast, so that another request would not help. */
class NoEventStreamError extends TypeError {}

/** What is kept between two connections. */
interface Following {
  /** `seq` of the last event seen. */
  after: number | undefined;
  /** Milliseconds before the stream is reopened. */
  reopen: number;
  /** Whether anything has come over the present connection, comments included. */
  hasHeard: boolean;
  /** The operation has ended, and no event follows the last one seen. */
  isOver: boolean;
}

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
  const state: Following = { after: lastEventId, reopen: REOPEN_MS.first, hasHeard: false, isOver: false };
  for (let failures = 0; failures < MAX_FAILURES_IN_A_ROW; ) {
    signal?.throwIfAborted();
    const began = performance.now();
    const { after } = state;
    let failure: unknown = new TypeError("the stream of events ends at once, again and again");
    try {
      for await (const event of eventsOnce(connection, id, state, signal)) {
        yield event;
        if (endedBy(event) !== undefined) return;
      }
      if (state.isOver) return;
    } catch (error) {
      const isRefused = error instanceof MucastApiError && error.status < 500 && error.status !== 429;
      if (signal?.aborted || isRefused || error instanceof NoEventStreamError) throw error;
      failure = error;
    }
    const hasLasted = state.hasHeard && performance.now() - began > ESTABLISHED_MS;
    failures = state.after !== after || hasLasted ? 0 : failures + 1;
    if (failures === MAX_FAILURES_IN_A_ROW) throw failure;
    await pause(failures === 0 ? state.reopen : backoff(failures), signal);
  }
}

/** The ended operation, if an event is the final one. Kept events may follow a snapshot. */
export function endedBy(event: StoredEvent | Snapshot): OperationView | undefined {
  const { type } = event;
  return type === "succeeded" || type === "failed" || type === "canceled" ? event.data : undefined;
}

/** The events of one connection. */
async function* eventsOnce(
  connection: Connection,
  id: string,
  state: Following,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredEvent | Snapshot, void> {
  state.hasHeard = false;
  const silence = new AbortController();
  /** Only the time that the service takes counts, not that of the reader of an event. */
  const hear = async <T>(answer: Promise<T>): Promise<T> => {
    const reason = `nothing was heard for ${SILENCE_MS / 1_000} s`;
    const error = () => (state.hasHeard ? new TypeError(reason) : new NoEventStreamError(reason));
    const timer = setTimeout(() => silence.abort(error()), SILENCE_MS);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  };
  const after: Record<string, string> =
    state.after === undefined ? {} : { "last-event-id": String(state.after) };
  const response = await hear(
    connection.once({
      method: "GET",
      path: `/v1/operations/${encodeURIComponent(id)}/events`,
      headers: { accept: "text/event-stream", ...after },
      signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
    }),
  );
  if (!response.ok) throw await hear(errorOf(response));
  state.isOver = response.status === 204;
  if (response.body === null) return;
  const type = response.headers.get("content-type") ?? "no content type";
  if (!/^text\/event-stream\b/i.test(type)) {
    await response.body.cancel();
    throw new NoEventStreamError(`the response is not an event stream: it has ${type.slice(0, 100)}`);
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  // A truncated event at the end is dropped: the next connection sends it again.
  let text = "";
  try {
    for (;;) {
      const { value } = await hear(reader.read());
      if (value === undefined) return;
      state.hasHeard = true;
      text += decoder.decode(value, { stream: true });
      // A proxy may end lines with CRLF.
      const messages = text.replaceAll("\r\n", "\n").split("\n\n");
      text = messages.pop()!;
      for (const message of messages) {
        const event = readMessage(message, state);
        if (event !== undefined) yield event;
      }
      if (text.length > MAX_EVENT_LENGTH) {
        const fault = `an event of more than ${MAX_EVENT_LENGTH} characters`;
        throw new NoEventStreamError(`the event stream contains ${fault}`);
      }
    }
  } finally {
    // If it broke, read() has thrown.
    await reader.cancel().catch(() => undefined);
  }
}

/** The event of a message; undefined for a comment, and for a pause that the service asks for. */
function readMessage(message: string, state: Following): StoredEvent | Snapshot | undefined {
  const fields = message.split("\n").map((line) => /^(\w*): ?(.*)$/s.exec(line) ?? []);
  const retry = fields.find(([, name, value]) => name === "retry" && /^\d+$/.test(value!))?.[2];
  if (retry !== undefined) state.reopen = Math.min(Number(retry), REOPEN_MS.most);
  const data = fields.flatMap(([, name, value]) => (name === "data" ? [value!] : [])).join("\n");
  if (data === "") return undefined;
  const event = objectIn(data) as StoredEvent | Snapshot | undefined;
  if (typeof event?.seq !== "number" || typeof event.type !== "string") {
    const fault = `an invalid event: ${data.slice(0, 100)}`;
    throw new NoEventStreamError(`the event stream contains ${fault}`);
  }
  state.after = event.seq;
  return event;
}
