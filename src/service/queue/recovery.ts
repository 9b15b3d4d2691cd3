import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, ExecutionListener } from "../../executors/executor.ts";
import type { RunningRow } from "../store/operations.ts";
import { finishAttempt } from "./finish-attempt.ts";
import { orderOf, type QueueParts } from "./queue-parts.ts";

const IGNORED: ExecutionListener = { onEvents: () => undefined, onTimings: () => undefined };

/**
 * Finds out how an attempt of a service that is gone has ended, by its status blob and its output, and stores that.
 * @returns true if its execution may still run and must be adopted.
 * @throws MucastError blob_unavailable, unavailable: the caller tries again while the attempt has time left.
 */
export async function recoverAttempt(parts: QueueParts, row: RunningRow): Promise<boolean> {
  // Without time left, a storage that does not answer is not waited for.
  const isLate = (row.attempt_seconds ?? 0) > parts.settings.job_seconds;
  const status = await statusOf(parts, row, isLate);
  let end: ExecutionEnd = {
    kind: "lost",
    reason: "the service that ran it was killed, crashed, or lost its machine",
  };
  if (status?.end) {
    end =
      "record" in status.end
        ? { kind: "succeeded", record: status.end.record }
        : { kind: "failed", problem: status.end.problem as Problem };
  } else {
    if (parts.executor.outlivesService) return true;
    // On this machine only an execution of this service can still run. `adopt` waits until the processes of any other are gone.
    const order = orderOf(row, 1, parts.urlOf);
    if (row.handle !== null && (await parts.executor.adopt(order, row.handle, IGNORED))) return true;
  }
  const attemptEnd = { timings: status?.end ? status.timings : [], lostWith: "service" } as const;
  try {
    await finishAttempt(parts, row, end, { ...attemptEnd, lookForOutput: true });
  } catch (error) {
    if (!isLate) throw error;
    parts.log.warn({ operation_id: row.id, err: error }, "could not find out whether the output exists");
    await finishAttempt(parts, row, end, { ...attemptEnd, lookForOutput: false });
  }
  return false;
}

/** Undefined if there is no readable status blob. */
async function statusOf(
  { readStatus, store, log }: QueueParts,
  { id, attempt, space }: RunningRow,
  isLate: boolean,
): Promise<StatusBlob | undefined> {
  try {
    return await readStatus(store.within(space), id, attempt);
  } catch (error) {
    const isUnreadable = error instanceof MucastError && error.code === "invalid_data";
    if (!isUnreadable && !isLate) throw error;
    log.warn({ operation_id: id, attempt, err: error }, "the status of an attempt is not known");
    return undefined;
  }
}
