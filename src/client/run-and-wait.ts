import type { OperationView } from "../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { MucastApiError } from "./api-error.ts";
import { pause } from "./connection.ts";
import { endedBy, type FollowOptions, hasEnded } from "./follow-events.ts";
import type { PayloadOf } from "./payload.ts";

export interface RunOptions {
  /** Aborts the wait; the job continues. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait in total; then a TimeoutError, and the job continues. */
  readonly timeout?: number | undefined;
  readonly onEvent?: ((event: StoredEvent | Snapshot) => void) | undefined;
}

/** An operation that produced an output. */
export type SucceededOperation = OperationView & {
  readonly status: "Succeeded";
  readonly result: ResultRecord;
};

/** The client's calls that it uses. */
interface JobCalls {
  submit(
    operation: SubmittedOperation,
    payload: PayloadOf<SubmittedOperation> | string,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<OperationView>;
  getOperation(id: string, options: { signal: AbortSignal }): Promise<OperationView>;
  events(id: string, options: FollowOptions): AsyncGenerator<StoredEvent | Snapshot, void>;
}

/** If there is no event stream. */
const POLL_MS = 2_000;

/**
 * Submits a job and waits for its end. A submit whose answer is lost is sent again with the same key, so that there is only one job.
 *
 * @throws MucastApiError with its problem if it is refused, Failed or Canceled; the errors that RunOptions names.
 */
export async function runAndWait(
  calls: JobCalls,
  operation: SubmittedOperation,
  payload: PayloadOf<SubmittedOperation> | string,
  { signal, timeout, onEvent }: RunOptions,
): Promise<SucceededOperation> {
  const signals = [signal, timeout === undefined ? undefined : AbortSignal.timeout(timeout)];
  const waitSignal = AbortSignal.any(signals.filter((one) => one !== undefined));
  const { id } = await calls.submit(operation, payload, { idempotencyKey: randomKey(), signal: waitSignal });
  const ended =
    (await endByEvents(calls, id, waitSignal, onEvent)) ?? (await endByPolling(calls, id, waitSignal));
  return asSucceeded(ended);
}

/** @throws MucastApiError with the problem of one that has failed or was cancelled; TypeError for one that has not ended. */
export function asSucceeded(operation: OperationView): SucceededOperation {
  if (hasSucceeded(operation)) return operation;
  if (operation.error !== null) throw new MucastApiError(operation.error, operation);
  throw new TypeError(`the operation ${operation.id} is ${operation.status}: it has left no output`);
}

function hasSucceeded(operation: OperationView): operation is SucceededOperation {
  return operation.status === "Succeeded" && operation.result !== null;
}

/** @returns undefined if no event stream gets through, as behind a proxy that buffers whole answers. */
async function endByEvents(
  calls: JobCalls,
  id: string,
  signal: AbortSignal,
  onEvent: RunOptions["onEvent"],
): Promise<OperationView | undefined> {
  const events = calls.events(id, { signal });
  try {
    for (;;) {
      const next = await nextOf(events, signal);
      if (next === undefined) return undefined;
      onEvent?.(next);
      const ended = endedBy(next);
      if (ended !== undefined) return ended;
    }
  } finally {
    // If left open, it would hold its connection and keep the finished program alive.
    await events.return();
  }
}

/** @returns undefined if no stream gets through. */
async function nextOf(
  events: AsyncGenerator<StoredEvent | Snapshot, void>,
  signal: AbortSignal,
): Promise<StoredEvent | Snapshot | undefined> {
  try {
    const { value } = await events.next();
    return value ?? undefined;
  } catch (error) {
    const isRefused = error instanceof MucastApiError && error.status < 500;
    if (signal.aborted || isRefused) throw error;
    return undefined;
  }
}

async function endByPolling(calls: JobCalls, id: string, signal: AbortSignal): Promise<OperationView> {
  for (;;) {
    const operation = await calls.getOperation(id, { signal });
    if (hasEnded(operation)) return operation;
    await pause(POLL_MS, signal);
  }
}

/** 128 random bits; crypto.randomUUID requires a secure context. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
