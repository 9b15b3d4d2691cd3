import { containerJob, executionName, outputName } from "../../blob/names.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { ByteSource } from "../../contract/market/ticker-series.ts";
import type { Timing } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, Executor } from "../../executors/executor.ts";
import { entriesOf } from "../../outputs/read-members.ts";
import type { Loss, OperationRow } from "../database/tables.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import { type Ending, endOperation, readOperation, releaseOperation } from "../store/attempts.ts";
import type { EventParts } from "../store/events.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Leases } from "./leases.ts";

export interface QueueParts extends EventParts {
  readonly leases: Leases;
  readonly executor: Executor;
  readonly store: BlobStore;
  readonly settings: Pick<ServiceSettings, "events_kept" | "job_seconds" | "concurrent_jobs" | "cores">;
  /** The URL of an input, from its URL or storage path in the row. */
  readonly urlOf: (stored: string) => string;
  readonly isTracked?: ((row: Pick<OperationRow, "operation">) => boolean) | undefined;
  readonly telemetry: Telemetry;
  readonly log: Log;
}

/** How many losses end an operation. Services end for their own reasons, such as updates; a job may also crash its service. */
const LAST_LOSS: Readonly<Record<Loss["with"], number>> = { execution: 2, service: 6 };
const MAX_REASON = 300;

/** If the storage has its output, the attempt has succeeded, whatever the executor says. @returns whether it is queued again. */
export async function finishAttempt(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  timings: readonly Timing[],
  how: { readonly lookForOutput?: boolean; readonly lostWith?: Loss["with"] } = {},
): Promise<boolean> {
  const { database, log, telemetry } = parts;
  const { lookForOutput = true, lostWith = "execution" } = how;
  const record = end.kind !== "succeeded" && lookForOutput ? await findOutput(parts.store, row) : undefined;
  const ending = await endingOf(parts, row, record ? { kind: "succeeded", record } : end, lostWith);
  const fields = { operation_id: row.id, attempt: row.attempt };
  if (ending === "drained") {
    if (!(await releaseOperation(database, row, "drained", 0))) return false;
    const reason = end.kind === "lost" ? { reason: end.reason } : {};
    log.info({ ...fields, ...reason }, "an attempt ended with its service and will be repeated");
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

async function endingOf(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  lostWith: Loss["with"],
): Promise<Ending | Loss | "drained"> {
  if (end.kind === "succeeded")
    return { status: "Succeeded", record: end.record, bytes: await bytesOf(parts, row, end.record) };
  // Both may have changed since the attempt began.
  const now = await readOperation(parts.database, row.id);
  const isCanceled = now !== undefined && now.cancel_requested_at !== null;
  if (end.kind === "failed") {
    const status = end.problem.code === "canceled" && isCanceled ? "Canceled" : "Failed";
    return { status, problem: end.problem };
  }
  if (isCanceled) return { status: "Canceled", problem: canceledProblem() };
  if (now?.drained_attempt === row.attempt) return "drained";
  const loss: Loss = { attempt: row.attempt, with: lostWith, reason: end.reason.slice(0, MAX_REASON) };
  // A loss of a version that stored no cause is a lost execution.
  const withService = row.losses.filter((before) => before.with === "service").length;
  const before = lostWith === "service" ? withService : row.lost - withService;
  if (before + 1 < LAST_LOSS[lostWith]) return loss;
  const causes = [...row.losses, loss].map(({ attempt, reason }) => `attempt ${attempt}: ${reason}`);
  const message = `the job was lost ${counted(row.lost + 1, "time")} (${causes.join("; ")})`;
  return { status: "Failed", problem: problemOf(new MucastError("execution_lost", message)) };
}

/** The size of the output; null if the storage does not respond, since the end of the operation must not wait for it. */
async function bytesOf({ store, log }: QueueParts, row: OperationRow, { output_name }: ResultRecord) {
  try {
    return (await store.within(row.space).stat(`data/${output_name}`))?.size ?? 0;
  } catch (error) {
    const message = "the size of the output could not be read, so the quota does not count it";
    log.warn({ operation_id: row.id, err: error }, message);
    return null;
  }
}

export function canceledProblem(): Problem {
  return problemOf(new MucastError("canceled", "the operation was cancelled on request"));
}

/** @returns the record of an output that has the operation's id and the digest of its config. */
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
