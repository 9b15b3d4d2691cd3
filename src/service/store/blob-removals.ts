import { outputIdIn } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import { lockUsage, type RecordKey, type StorageKey, storagePathOf } from "./blob-records.ts";
import { ACTIVE_STATUSES } from "./operation-rows.ts";

/** A blob that is being removed, or is to be. */
export interface RemovedBlob extends StorageKey, RecordKey {}

/**
 * A removal that takes longer counts as interrupted. Until then, only one service does it: a second one might remove a blob that was
 * uploaded after the first had finished. Longer than the storage takes for a request with all its retries.
 */
const REMOVAL_SECONDS = 600;

/** A removal that no service is doing. */
const IS_INTERRUPTED = `removed_at < clock_timestamp() - make_interval(secs => ${REMOVAL_SECONDS})`;

/**
 * Hides a blob from its caller before it is removed from the storage. If a submission that names the blob runs concurrently, either
 * it comes first and the blob stays, or it comes later and is refused.
 * @param isRecorded whether the caller saw a record of it, or a blob without a record.
 * @returns false if another removal is doing it or has done it.
 * @throws MucastError blob_in_use while an active operation names it.
 */
export function markRemoved(
  database: Database,
  caller: string,
  blob: StorageKey,
  isRecorded: boolean,
): Promise<boolean> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    // Waits for submissions, which lock the record while they are inserted; the next statement sees their rows.
    const { rows } = await statements.query<{ isFree: boolean }>(
      `select removed_at is null or ${IS_INTERRUPTED} as "isFree" from blobs where caller = $1 and name = $2 for update`,
      [caller, blob.name],
    );
    if (isRecorded && rows[0]?.isFree !== true) return false;
    const operations = await namedBy(statements, caller, blob);
    if (operations.length > 0) throw inUse(blob.name, operations);
    await statements.query(
      "update blobs set removed_at = clock_timestamp() where caller = $1 and name = $2",
      [caller, blob.name],
    );
    return true;
  });
}

/** Marks a removal that the storage refused, so that the next request may retry it at once. */
export async function markInterrupted(statements: Queryable, { caller, name }: RecordKey): Promise<void> {
  await statements.query(
    "update blobs set removed_at = 'epoch' where caller = $1 and name = $2 and removed_at is not null",
    [caller, name],
  );
}

/** Marks all removals as interrupted, before a service that is alone on its database does its first one. */
export async function markAllInterrupted(statements: Queryable): Promise<void> {
  await statements.query("update blobs set removed_at = 'epoch' where removed_at is not null");
}

/** Claims one interrupted removal. @returns false if it is not interrupted, or another service has claimed it. */
export async function claimRemoval(statements: Queryable, { caller, name }: RecordKey): Promise<boolean> {
  const { rows } = await statements.query(
    `update blobs set removed_at = clock_timestamp() where caller = $1 and name = $2 and ${IS_INTERRUPTED} returning name`,
    [caller, name],
  );
  return rows.length > 0;
}

const BATCH = 100;

/** The next interrupted removals, in the order of caller and name. @param after undefined for the first batch. */
export async function interruptedRemovals(
  statements: Queryable,
  after: RecordKey | undefined,
): Promise<RemovedBlob[]> {
  const { rows } = await statements.query<RemovedBlob>(
    `select caller, name, space from blobs
     where ${IS_INTERRUPTED} and (caller, name) > ($1, $2) order by caller, name limit $3`,
    [after?.caller ?? "", after?.name ?? "", BATCH],
  );
  return rows;
}

const MAX_OPERATIONS_LISTED = 10;

/**
 * Ids of active operations that read the blob or will write it. Searches the text of the options for the path as a JSON string: PostgreSQL
 * reads no member of an object in which any text has a NUL.
 */
async function namedBy(statements: Queryable, caller: string, blob: StorageKey): Promise<string[]> {
  const { rows } = await statements.query<{ id: string }>(
    `select id from operations
     where caller = $1 and status in ${ACTIVE_STATUSES}
       and (feature_url = $2 or data_extractor_url = $2 or id = $3 or position('"' || $2::text || '"' in options::text) > 0)
     order by ordinal limit $4`,
    [caller, storagePathOf(blob), outputIdIn(blob.name) ?? null, MAX_OPERATIONS_LISTED],
  );
  return rows.map((row) => row.id);
}

function inUse(name: string, operations: readonly string[]): MucastError {
  const message = `${name} is named by operations that wait or run: ${operations.join(", ")}`;
  return new MucastError("blob_in_use", message, { path: "name", operations });
}
