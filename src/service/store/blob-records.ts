import type { Queryable } from "../database/database.ts";

/** A blob of a caller's, by its name and the space that it lies in. */
export interface StorageKey {
  readonly name: string;
  /** Empty for the storage itself. */
  readonly space: string;
}

/** What one record is known by. */
export interface RecordKey {
  readonly caller: string;
  readonly name: string;
}

export interface BlobRecord extends StorageKey, RecordKey {
  /** Null where it is still to be looked up in the storage. */
  readonly bytes: number | null;
}

export const RECORD = "name, space, caller, bytes::float8 as bytes";

/** Where a blob of a caller's lies: one that was recorded, or the output of an operation that has not ended. */
export async function findBlob(
  statements: Queryable,
  caller: string,
  name: string,
): Promise<StorageKey | undefined> {
  const id = /^(?:ml|nn)_engine_(.*)\.json$/.exec(name)?.[1];
  const { rows } = await statements.query<{ space: string }>(
    `select space from blobs where caller = $1 and name = $2 and removed_at is null
     union all select space from operations
       where caller = $1 and id = $3 and status in ('NotStarted', 'Running')
     limit 1`,
    [caller, name, id ?? null],
  );
  return rows[0] && { name, space: rows[0].space };
}

/** Whose the blob at a place is; undefined where it is recorded for no caller. */
export async function ownerOf(
  statements: Queryable,
  { name, space }: StorageKey,
): Promise<string | undefined> {
  const id = /^(?:ml|nn)_engine_(.*)\.json$/.exec(name)?.[1];
  const { rows } = await statements.query<{ caller: string }>(
    `select caller from blobs where space = $1 and name = $2
     union all select caller from operations where id = $3 and space = $1
     limit 1`,
    [space, name, id ?? null],
  );
  return rows[0]?.caller;
}

/** The record of a caller's blob, also of one that is being removed. */
export async function recordOf(
  statements: Queryable,
  caller: string,
  name: string,
): Promise<(BlobRecord & { readonly isRemoved: boolean }) | undefined> {
  const { rows } = await statements.query<BlobRecord & { isRemoved: boolean }>(
    `select ${RECORD}, removed_at is not null as "isRemoved" from blobs where caller = $1 and name = $2`,
    [caller, name],
  );
  return rows[0];
}

/** Records a blob that is there, new or replaced, and counts it. The caller's usage is locked until the transaction ends. */
export async function recordBlob(statements: Queryable, blob: BlobRecord): Promise<void> {
  const { caller, name, space, bytes } = blob;
  await lockUsage(statements, caller);
  const before = await recordOf(statements, caller, name);
  await statements.query(
    `insert into blobs (caller, name, space, bytes) values ($1, $2, $3, $4)
     on conflict (caller, name) do update set bytes = excluded.bytes, removed_at = null`,
    [caller, name, space, bytes],
  );
  await count(statements, caller, (bytes ?? 0) - (before?.bytes ?? 0), before === undefined ? 1 : 0);
}

/** Forgets a blob that is no longer there, and gives back what it took. */
export async function removeRecord(statements: Queryable, caller: string, name: string): Promise<void> {
  await lockUsage(statements, caller);
  const { rows } = await statements.query<{ bytes: number | null }>(
    `delete from blobs where caller = $1 and name = $2 and removed_at is not null
     returning bytes::float8 as bytes`,
    [caller, name],
  );
  if (rows[0]) await count(statements, caller, -(rows[0].bytes ?? 0), -1);
}

/** Writes down how large a blob is that was recorded without that, once. */
export async function measureBlob(
  statements: Queryable,
  { caller, name }: RecordKey,
  bytes: number,
): Promise<void> {
  await lockUsage(statements, caller);
  const { rows } = await statements.query(
    "update blobs set bytes = $3 where caller = $1 and name = $2 and bytes is null returning name",
    [caller, name, bytes],
  );
  if (rows.length > 0) await count(statements, caller, bytes, 0);
}

/** Writes down another size of a blob that is there and is not being removed. */
export async function resizeBlob(
  statements: Queryable,
  { caller, name }: RecordKey,
  bytes: number,
): Promise<void> {
  await lockUsage(statements, caller);
  const before = await recordOf(statements, caller, name);
  if (before === undefined || before.isRemoved) return;
  await statements.query("update blobs set bytes = $3 where caller = $1 and name = $2", [
    caller,
    name,
    bytes,
  ]);
  await count(statements, caller, bytes - (before.bytes ?? 0), 0);
}

/** What a caller has stored. */
export interface Usage {
  readonly bytes: number;
  readonly blobs: number;
}

/** What a caller has stored; no other transaction changes it before this one ends. */
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

const BATCH = 100;

/** The next blobs, in the order of caller and name, whose size is still to be looked up. @param after undefined for the first. */
export async function unmeasuredBlobs(
  statements: Queryable,
  after: RecordKey | undefined,
): Promise<BlobRecord[]> {
  const { rows } = await statements.query<BlobRecord>(
    `select ${RECORD} from blobs where bytes is null and (caller, name) > ($1, $2) order by caller, name limit $3`,
    [after?.caller ?? "", after?.name ?? "", BATCH],
  );
  return rows;
}

/** How an operation's row names a blob of this service's own: by its path in the storage. */
export function storagePathOf({ name, space }: StorageKey): string {
  return `${space === "" ? "" : `/${space}`}/data/${name}`;
}

/** The same the other way; undefined for the URL of any other blob. */
export function storageKeyOf(stored: string): StorageKey | undefined {
  const [, space = "", name] = /^(?:\/([^/?]+))?\/data\/([^/?]+)$/.exec(stored) ?? [];
  return name === undefined ? undefined : { name, space };
}
