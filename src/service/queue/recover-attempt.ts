import { MucastError } from "../../contract/errors/errors.ts";
import type { Problem } from "../../contract/errors/problem.ts";
import type { StatusBlob, Timing } from "../../contract/output/status-blob.ts";
import type { ExecutionEnd, ExecutionListener } from "../../executors/executor.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import { finishAttempt } from "./finish-attempt.ts";
import { orderOf, type QueueParts } from "./queue-parts.ts";

const UNHEARD: ExecutionListener = { onEvent: () => undefined, onTimings: () => undefined };

/**
 * Finds out what became of an attempt whose service is gone, by its output and by what it said of itself, and writes
 * it down.
 * @returns true where it may still be running and is to be adopted.
 * @throws MucastError blob_unavailable, unavailable: it is to be tried again, for as long as the attempt has time.
 */
export async function recover(parts: QueueParts, row: OperationRow): Promise<boolean> {
  const isLate = hasNoTimeLeft(parts, row);
  const status = await statusOf(parts, row, isLate);
  if (status?.end) {
    await finishInTime(parts, row, endOf(status.end), status.timings, isLate);
    return false;
  }
  if (parts.executor.outlivesService) return true;
  // On this machine nothing of it goes on, unless it is our own; this waits until the last of it is gone.
  if (row.handle !== null) {
    const ours = await parts.executor.adopt(orderOf(row, 1, parts.urlOf), row.handle, UNHEARD);
    if (ours) return true;
  }
  const lost = { kind: "lost", reason: "the service that ran it ended" } as const;
  await finishInTime(parts, row, lost, [], isLate);
  return false;
}

/** Without the storage's word where that cannot be had and there is no time left to wait for it. */
async function finishInTime(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  timings: readonly Timing[],
  isLate: boolean,
): Promise<void> {
  try {
    await finishAttempt(parts, row, end, { timings, lookForOutput: true });
  } catch (error) {
    if (!isLate) throw error;
    parts.log.warn({ operation_id: row.id, err: error }, "whether there is an output is not known");
    await finishAttempt(parts, row, end, { timings, lookForOutput: false });
  }
}

/** Undefined where nothing was said, or nothing that can be read. */
async function statusOf(
  { readStatus, store, log }: QueueParts,
  row: OperationRow,
  isLate: boolean,
): Promise<StatusBlob | undefined> {
  try {
    return await readStatus(store.within(row.space), row.id, row.attempt);
  } catch (error) {
    const isOdd = error instanceof MucastError && error.code === "invalid_data";
    if (!isOdd && !isLate) throw error;
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
