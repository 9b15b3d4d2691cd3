import { containerJob, executionName, outputName } from "../../blob/names.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { ByteSource } from "../../contract/market/ticker-series.ts";
import type { Timing } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { ExecutionEnd } from "../../executors/executor.ts";
import { entriesOf } from "../../outputs/read-members.ts";
import type { Loss } from "../database/tables.ts";
import { type Ending, endOperation, releaseOperation } from "../store/attempts.ts";
import { type OperationRow, readOperation } from "../store/operations.ts";
import type { QueueParts } from "./queue-parts.ts";

/**
 * The number of losses that ends an operation, by what was lost. Services end for their own reasons, such as updates and failing
 * machines. The number still limits how often a job that crashes its service runs again.
 */
const LAST_LOSS: Readonly<Record<Loss["with"], number>> = { execution: 2, service: 6 };

interface AttemptEnd {
  readonly timings: readonly Timing[];
  readonly lookForOutput: boolean;
  /** What was lost, if the attempt was lost; its execution by default. */
  readonly lostWith?: Loss["with"];
}

/**
 * Stores how an attempt ended. If the storage has its output, the attempt has succeeded, whatever the executor says. Releases a lost
 * attempt to the queue until too many are lost. An attempt that is lost while its service drains does not count. Changes nothing if
 * the attempt is no longer the current one.
 * @returns whether it released the operation to the queue.
 */
export async function finishAttempt(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  { timings, lookForOutput, lostWith = "execution" }: AttemptEnd,
): Promise<boolean> {
  const { database, log, telemetry } = parts;
  const record = end.kind !== "succeeded" && lookForOutput ? await findOutput(parts.store, row) : undefined;
  const ending = await endingOf(parts, row, record ? { kind: "succeeded", record } : end, lostWith);
  const fields = { operation_id: row.id, attempt: row.attempt };
  if (ending === "drained") {
    if (!(await releaseOperation(database, row, "drained", 0))) return false;
    log.info(
      { ...fields, ...(end.kind === "lost" && { reason: end.reason }) },
      "an attempt ended with its service and will be repeated",
    );
    return true;
  }
  if ("with" in ending) {
    if (!(await releaseOperation(database, row, ending, 1))) return false;
    telemetry.attemptLost(row);
    log.warn({ ...fields, reason: ending.reason }, "an attempt was lost and will be repeated");
    return true;
  }
  const ended = await endOperation(parts, row, ending, parts.isTracked?.(row));
  if (!ended) return false;
  if (end.kind === "lost") telemetry.attemptLost(row);
  telemetry.ended(ended, timings);
  const code = ending.status === "Succeeded" ? undefined : ending.problem.code;
  log.info({ ...fields, status: ending.status, code }, "operation ended");
  return false;
}

/** @returns a Loss if the attempt must be repeated. */
async function endingOf(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  lostWith: Loss["with"],
): Promise<Ending | Loss | "drained"> {
  if (end.kind === "succeeded") {
    return { status: "Succeeded", record: end.record, bytes: await bytesOf(parts, row, end.record) };
  }
  // Both may have changed since the attempt began.
  const now = await readOperation(parts.database, row.id);
  const canceled = now !== undefined && now.cancel_requested_at !== null;
  if (end.kind === "failed") {
    const status = end.problem.code === "canceled" && canceled ? "Canceled" : "Failed";
    return { status, problem: end.problem };
  }
  if (canceled) return { status: "Canceled", problem: canceledProblem() };
  if (now?.drained_attempt === row.attempt) return "drained";
  const loss: Loss = { attempt: row.attempt, with: lostWith, reason: end.reason.slice(0, MAX_REASON) };
  if (lossCount(row, lostWith) + 1 < LAST_LOSS[lostWith]) return loss;
  return { status: "Failed", problem: problemOf(executionLost(row, loss)) };
}

/** Maximum characters of the reason of a loss. */
const MAX_REASON = 300;

/** A loss without a cause is a lost execution. */
function lossCount({ lost, losses }: OperationRow, lostWith: Loss["with"]): number {
  const withService = losses.filter((loss) => loss.with === "service").length;
  return lostWith === "service" ? withService : lost - withService;
}

/** The size of the output; null if the storage does not respond, since the end of the operation must not wait for it. */
async function bytesOf({ store, log }: QueueParts, row: OperationRow, { output_name }: ResultRecord) {
  try {
    return (await store.within(row.space).stat(`data/${output_name}`))?.size ?? 0;
  } catch (error) {
    log.warn(
      { operation_id: row.id, err: error },
      "the size of the output could not be read, so the quota does not count it",
    );
    return null;
  }
}

/** The error of a canceled operation. */
export function canceledProblem() {
  return problemOf(new MucastError("canceled", "the operation was cancelled on request"));
}

function executionLost({ lost, losses }: OperationRow, last: Loss): MucastError {
  const causes = [...losses, last].map(({ attempt, reason }) => `attempt ${attempt}: ${reason}`);
  const times = counted(lost + 1, "time");
  return new MucastError("execution_lost", `the job was lost ${times} (${causes.join("; ")})`);
}

/**
 * Finds the output of an attempt whose end the service did not see.
 * @returns its record; undefined if the storage has none with the operation's id and config.
 */
export async function findOutput(whole: BlobStore, row: OperationRow): Promise<ResultRecord | undefined> {
  const store = whole.within(row.space);
  const name = outputName(row.operation, row.id);
  const key = `data/${name}`;
  const found = await store.stat(key);
  if (!found) return undefined;
  if (!(await isOutputOf(row, { name, chunks: store.read(key, { etag: found.etag }) }))) return undefined;
  return {
    status: "Succeeded",
    output_url: `${store.url}/${key}`,
    output_name: name,
    execution_name: executionName(containerJob(row.operation, row.options), row.id.slice(0, 8)),
  };
}

/** Reads the blob until it has the id and the digest of the config, which jobs write in the first kilobytes. */
async function isOutputOf(row: OperationRow, blob: ByteSource): Promise<boolean> {
  const isWanted = (member: string) => ["id", "provenance", "inputs"].includes(member);
  try {
    for await (const { member, key, value } of entriesOf(blob, undefined, isWanted)) {
      if (member === "id" && value !== row.id) return false;
      // A replay records no digest of a config, which it may not have.
      if (member === "id" && row.operation === "replay") return true;
      if (key === "config_sha256") return value === row.config_sha256;
    }
    return false;
  } catch (error) {
    if (error instanceof MucastError && error.code === "unreadable_blob") return false;
    throw error;
  }
}
