import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob, Timing } from "../../contract/output/status-blob.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, ExecutionListener } from "../../executors/executor.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import { finishAttempt } from "./finish-attempt.ts";
import { orderOf, type QueueParts } from "./queue-parts.ts";

const IGNORED: ExecutionListener = { onEvents: () => undefined, onTimings: () => undefined };

/**
 * Finds out how an attempt of a service that is gone has ended, by its output and its status blob, and stores that.
 * @returns true if its execution may still run and must be adopted.
 * @throws MucastError blob_unavailable, unavailable: the caller retries while the attempt has time left.
 */
export async function recoverAttempt(parts: QueueParts, row: OperationRow): Promise<boolean> {
  const isLate = hasNoTimeLeft(parts, row);
  const status = await statusOf(parts, row, isLate);
  if (status?.end) {
    await finishInTime(parts, row, endOf(status.end), status.timings, isLate);
    return false;
  }
  if (parts.executor.outlivesService) return true;
  // On this machine only an execution of this service can still run. `adopt` waits until the processes of any other are gone.
  if (row.handle !== null) {
    const own = await parts.executor.adopt(orderOf(row, 1, parts.urlOf), row.handle, IGNORED);
    if (own) return true;
  }
  const reason = "the service that ran it was killed, crashed, or lost its machine";
  const lost = { kind: "lost", reason } as const;
  await finishInTime(parts, row, lost, [], isLate);
  return false;
}

/** Finishes the attempt without looking for its output if the storage does not respond and the attempt has no time left. */
async function finishInTime(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  timings: readonly Timing[],
  isLate: boolean,
): Promise<void> {
  try {
    await finishAttempt(parts, row, end, { timings, lookForOutput: true, lostWith: "service" });
  } catch (error) {
    if (!isLate) throw error;
    parts.log.warn({ operation_id: row.id, err: error }, "could not find out whether the output exists");
    await finishAttempt(parts, row, end, { timings, lookForOutput: false, lostWith: "service" });
  }
}

/** Undefined if there is no readable status blob. */
async function statusOf(
  { readStatus, store, log }: QueueParts,
  row: OperationRow,
  isLate: boolean,
): Promise<StatusBlob | undefined> {
  try {
    return await readStatus(store.within(row.space), row.id, row.attempt);
  } catch (error) {
    const isUnreadable = error instanceof MucastError && error.code === "invalid_data";
    if (!isUnreadable && !isLate) throw error;
    log.warn(
      { operation_id: row.id, attempt: row.attempt, err: error },
      "the status of an attempt is not known",
    );
    return undefined;
  }
}

function endOf(end: NonNullable<StatusBlob["end"]>): ExecutionEnd {
  if ("record" in end) return { kind: "succeeded", record: end.record };
  return { kind: "failed", problem: end.problem as Problem };
}

function hasNoTimeLeft({ settings }: QueueParts, { attempt_seconds }: OperationRow): boolean {
  return (attempt_seconds ?? 0) > settings.job_seconds;
}
