import type { ExecutionEnd } from "../../executors/executor.ts";
import type { OperationRow } from "../store/operation-row.ts";
import { conclude } from "./conclude.ts";
import type { QueueParts } from "./queue-parts.ts";

/**
 * Finds out what became of an attempt whose service is gone, by its output and by what it said of itself, and writes
 * it down.
 * @returns true where it may still be running and is to be adopted.
 */
export async function recover(parts: QueueParts, row: OperationRow): Promise<boolean> {
  const status = await parts.readStatus(parts.store, row.id, row.attempt);
  if (status?.end) {
    const end: ExecutionEnd =
      "record" in status.end
        ? { kind: "succeeded", record: status.end.record }
        : { kind: "failed", problem: status.end.problem as never };
    await conclude(parts, row, end, { timings: status.timings, lookForOutput: true });
    return false;
  }
  if (parts.executor.outlivesService) return true;
  await conclude(
    parts,
    row,
    { kind: "lost", reason: "the service that ran it ended" },
    { timings: [], lookForOutput: true },
  );
  return false;
}
