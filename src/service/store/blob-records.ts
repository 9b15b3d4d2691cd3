import { outputIdIn } from "../../blob/names.ts";
import type { BlobContents } from "../../contract/api/blob-page.ts";
import type { Database, Queryable } from "../database/database.ts";
import { ACTIVE_STATUSES } from "./operation-rows.ts";

/** The location of a blob in the storage: the key `[<space>/]data/<name>`. */
export interface StorageKey {
  readonly name: string;
  /** The folder of one caller; empty for the root of the storage. */
  readonly space: string;
}

/** The primary key of a record. */
export interface RecordKey {
  readonly caller: string;
  readonly name: string;
}

export interface BlobRecord extends StorageKey, RecordKey {
  /** Null if unknown: for blobs that versions without quotas recorded, and outputs whose size the storage did not tell. */
  readonly bytes: number | null;
  /** Undefined if unknown. */
  readonly contents?: BlobContents | undefined;
}

/** Finds a recorded blob of a caller, or the output that an active operation will write. */
export async function findBlob(
  statements: Queryable,
  caller: string,
  name: string,
): Promise<StorageKey | undefined> {
  const { rows } = await statements.query<{ space: string }>(
    `select space from blobs where caller = $1 and name = $2 and removed_at is null
     union all select space from operations
       where caller = $1 and id = $3 and status in ${ACTIVE_STATUSES}
     limit 1`,
    [caller, name, outputIdIn(name) ?? null],
  );
  return rows[0] && { name, space: rows[0].space };
}

/** The caller that the blob at a key is recorded for; undefined if there is none. */
export async function ownerOf(
  statements: Queryable,
  { name, space }: StorageKey,
): Promise<string | undefined> {
  const { rows } = await statements.query<{ caller: string }>(
    `select caller from blobs where space = $1 and name = $2
     union all select caller from operations where id = $3 and space = $1
     limit 1`,
    [space, name, outputIdIn(name) ?? null],
  );
  return rows[0]?.caller;
}

/** Whether a key belongs to another caller. */
export async function isTaken(
  statements: Queryable,
  { name, space }: StorageKey,
  caller: string,
): Promise<boolean> {
  const { rows } = await statements.query(
    "select 1 from blobs where space = $1 and name = $2 and caller <> $3",
    [space, name, caller],
  );
  return rows.length > 0;
}

/**
 * Marks the record of a blob whose first bytes are still to come, in place of the time of its removal. It hides the blob as a removal does.
 * The next start, which finishes interrupted removals, removes what a killed service has left.
 */
const RESERVED = "'infinity'::timestamptz";

/** Reads the record of a caller's blob, even while it is reserved or being removed. */
export async function recordOf(
  statements: Queryable,
  caller: string,
  name: string,
): Promise<(BlobRecord & { readonly isRemoved: boolean }) | undefined> {
  const { rows } = await statements.query<BlobRecord & { isRemoved: boolean }>(
    `select name, space, caller, bytes::float8 as bytes, coalesce(removed_at <> ${RESERVED}, false) as "isRemoved" from blobs where caller = $1 and name = $2`,
    [caller, name],
  );
  return rows[0];
}

/** Records a new or replaced blob in the storage, and counts it. Locks the caller's usage until the transaction ends. */
export async function recordBlob(statements: Queryable, blob: BlobRecord): Promise<void> {
  const { caller, name, space, bytes, contents } = blob;
  await lockUsage(statements, caller);
  const before = await recordOf(statements, caller, name);
  await statements.query(
    `insert into blobs (caller, name, space, bytes, contents) values ($1, $2, $3, $4, $5::json)
     on conflict (caller, name) do update
       set bytes = excluded.bytes, contents = excluded.contents, created_at = excluded.created_at, removed_at = null`,
    [caller, name, space, bytes, contents === undefined ? null : JSON.stringify(contents)],
  );
  await count(statements, caller, (bytes ?? 0) - (before?.bytes ?? 0), before === undefined ? 1 : 0);
}

/**
 * Records an uploaded blob, unless it is being removed: the removal may take its bytes.
 * @returns whether it is recorded.
 */
export function recordUpload(database: Database, blob: BlobRecord): Promise<boolean> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, blob.caller);
    if ((await recordOf(statements, blob.caller, blob.name))?.isRemoved) return false;
    await recordBlob(statements, blob);
    return true;
  });
}

/** Records the name of a blob before its first bytes are stored, so that no other caller finds bytes without an owner. */
export function reserveBlob(
  database: Database,
  { caller, name, space }: RecordKey & StorageKey,
): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    const { rows } = await statements.query(
      `insert into blobs (caller, name, space, removed_at) values ($1, $2, $3, ${RESERVED})
       on conflict do nothing returning name`,
      [caller, name, space],
    );
    await count(statements, caller, 0, rows.length);
  });
}

/** Removes the record of a blob that was reserved and not uploaded. */
export function discardReserved(database: Database, { caller, name }: RecordKey): Promise<void> {
  return database.transaction(async (statements) => {
    await lockUsage(statements, caller);
    const { rows } = await statements.query(
      `delete from blobs where caller = $1 and name = $2 and removed_at = ${RESERVED} returning name`,
      [caller, name],
    );
    await count(statements, caller, 0, -rows.length);
  });
}

/** Removes the record of a blob that is gone from the storage, and its share of the caller's usage. */
export async function removeRecord(statements: Queryable, caller: string, name: string): Promise<void> {
  await lockUsage(statements, caller);
  const { rows } = await statements.query<{ bytes: number | null }>(
    `delete from blobs where caller = $1 and name = $2 and removed_at is not null
     returning bytes::float8 as bytes`,
    [caller, name],
  );
  if (rows[0]) await count(statements, caller, -(rows[0].bytes ?? 0), -1);
}

/** What a caller has stored. */
export interface Usage {
  readonly bytes: number;
  readonly blobs: number;
}

/** Reads a caller's usage and locks it: no other transaction changes it before this one ends. */
export async function lockUsage(statements: Queryable, caller: string): Promise<Usage> {
  const { rows } = await statements.query<Usage>(
    `insert into blob_usage (caller) values ($1)
     on conflict (caller) do update set caller = excluded.caller
     returning bytes::float8 as bytes, blobs::float8 as blobs`,
    [caller],
  );
  return rows[0]!;
}

async function count(statements: Queryable, caller: string, bytes: number, blobs: number): Promise<void> {
  await statements.query(
    "update blob_usage set bytes = bytes + $2::bigint, blobs = blobs + $3::bigint where caller = $1",
    [caller, bytes, blobs],
  );
}

/** The path with which an operation's row names a blob in the service's own storage. */
export function storagePathOf({ name, space }: StorageKey): string {
  return `${space === "" ? "" : `/${space}`}/data/${name}`;
}

/** Reads such a path; undefined for the URL of any other blob. */
export function storageKeyOf(stored: string): StorageKey | undefined {
  const [, space = "", name] = /^(?:\/([^/?]+))?\/data\/([^/?]+)$/.exec(stored) ?? [];
  return name === undefined ? undefined : { name, space };
}
