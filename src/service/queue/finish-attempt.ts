import { containerJob, executionName, outputName } from "../../blob/names.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { ExecutionEnd } from "../../executors/executor.ts";
import { type Ending, endOperation, releaseOperation } from "../store/end-operation.ts";
import { type OperationRow, readOperation } from "../store/operation-rows.ts";
import type { QueueParts } from "./queue-parts.ts";

/** After the first lost attempt the dispatcher makes another one; the second lost one ends the operation. */
const ATTEMPTS_LOST_AT_MOST = 2;

/**
 * Stores how an attempt ended. Where the storage has its output, the attempt has succeeded, whatever the executor said. Releases
 * a lost attempt to the queue once. Changes nothing where the attempt is no longer the current one.
 */
export async function finishAttempt(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  { timings, lookForOutput }: { readonly timings: readonly Timing[]; readonly lookForOutput: boolean },
): Promise<void> {
  const { database, log, telemetry, settings, webhooks } = parts;
  const record = end.kind !== "succeeded" && lookForOutput ? await findOutput(parts.store, row) : undefined;
  const ending = await endingOf(parts, row, record ? { kind: "succeeded", record } : end);
  const fields = { operation_id: row.id, attempt: row.attempt };
  if (ending === "again") {
    if (!(await releaseOperation(database, row, "lost", 1))) return;
    telemetry.attemptLost(row);
    log.warn({ ...fields, reason: reasonOf(end) }, "an attempt was lost and is made again");
    return;
  }
  const ended = await endOperation(database, row, ending, { events: settings.events_kept, webhooks });
  if (!ended) return;
  if (end.kind === "lost") telemetry.attemptLost(row);
  telemetry.ended(ended, timings);
  const code = ending.status === "Succeeded" ? undefined : ending.problem.code;
  log.info({ ...fields, status: ending.status, code }, "operation ended");
}

async function endingOf(parts: QueueParts, row: OperationRow, end: ExecutionEnd): Promise<Ending | "again"> {
  if (end.kind === "succeeded") {
    return { status: "Succeeded", record: end.record, bytes: await bytesOf(parts, row, end.record) };
  }
  const canceled = await isCancelRequested(parts, row);
  if (end.kind === "failed") {
    const status = end.problem.code === "canceled" && canceled ? "Canceled" : "Failed";
    return { status, problem: end.problem };
  }
  if (canceled) return { status: "Canceled", problem: canceledProblem() };
  if (row.lost + 1 < ATTEMPTS_LOST_AT_MOST) return "again";
  return { status: "Failed", problem: problemOf(lostTwice(end.reason)) };
}

/** The size of the output; null where the storage does not answer, since the end of the operation must not wait for it. */
async function bytesOf({ store, log }: QueueParts, row: OperationRow, { output_name }: ResultRecord) {
  try {
    return (await store.within(row.space).stat(`data/${output_name}`))?.size ?? 0;
  } catch (error) {
    log.warn({ operation_id: row.id, err: error }, "how large the output is will be looked up later");
    return null;
  }
}

async function isCancelRequested({ database }: QueueParts, row: OperationRow): Promise<boolean> {
  const now = await readOperation(database, row.id);
  return now?.cancel_requested_at !== null && now !== undefined;
}

/** The error of a canceled operation. */
export function canceledProblem() {
  return problemOf(new MucastError("canceled", "the operation was cancelled on request"));
}

function lostTwice(reason: string): MucastError {
  return new MucastError("execution_lost", `the job's process vanished twice, the second time: ${reason}`);
}

function reasonOf(end: ExecutionEnd): string | undefined {
  return end.kind === "lost" ? end.reason : undefined;
}

/** A blob has its id in its first bytes, and an output its provenance in the last ones, as an audit the digest of its config. */
const EDGE_BYTES = 16_384;

/**
 * Finds the output of an attempt whose end the service did not see.
 * @returns its record; undefined where the storage has none with the operation's id and config.
 */
export async function findOutput(whole: BlobStore, row: OperationRow): Promise<ResultRecord | undefined> {
  const store = whole.within(row.space);
  const name = outputName(row.operation, row.id);
  const key = `data/${name}`;
  const found = await store.stat(key);
  if (!found) return undefined;
  const head = await textOf(store.read(key, { end: Math.min(EDGE_BYTES, found.size), etag: found.etag }));
  const tail = await textOf(
    store.read(key, { start: Math.max(0, found.size - EDGE_BYTES), end: found.size, etag: found.etag }),
  );
  if (!isOf(row, head, tail)) return undefined;
  return {
    status: "Succeeded",
    output_url: `${store.url}/${key}`,
    output_name: name,
    execution_name: executionName(containerJob(row.operation, row.options), row.id.slice(0, 8)),
  };
}

function isOf(row: OperationRow, head: string, tail: string): boolean {
  const id = /"id":\s*"([^"]*)"/.exec(head)?.[1];
  // A replay keeps no digest of a config, which it may not have.
  if (id === row.id && row.operation === "replay") return true;
  const digests = [...tail.matchAll(/"config_sha256":\s*"([0-9a-f]{64})"/g)];
  return id === row.id && digests.at(-1)?.[1] === row.config_sha256;
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}
