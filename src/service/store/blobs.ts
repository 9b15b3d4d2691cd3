import { sql } from "kysely";
import { outputIdIn } from "../../blob/names.ts";
import type { BlobContents, BlobKind } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import type { Statements } from "../database/tables.ts";
import { ACTIVE_STATUSES, unknownCursor } from "./operation-view.ts";

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
  /** Null if unknown: for outputs whose size the storage did not tell. */
  readonly bytes: number | null;
  /** Undefined if unknown. */
  readonly contents?: BlobContents | undefined;
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

/** Finds a recorded blob of a caller, or the output that an active operation will write. */
export async function findBlob(
  db: Statements,
  caller: string,
  name: string,
): Promise<StorageKey | undefined> {
  // First: an operation that ends between the statements has recorded its output by the second one.
  const active = await selectOperation(db, name)
    .where("caller", "=", caller)
    .where("status", "in", ACTIVE_STATUSES)
    .executeTakeFirst();
  const found =
    active ?? (await selectRecord(db, caller, name).where("state", "=", "stored").executeTakeFirst());
  return found && { name, space: found.space };
}

function selectRecord(db: Statements, caller: string, name: string) {
  return db
    .selectFrom("blobs")
    .select(["caller", "name", "space", "bytes", "state"])
    .where(({ and }) => and({ caller, name }));
}

/** The operation whose output has that name. */
function selectOperation(db: Statements, name: string) {
  return db
    .selectFrom("operations")
    .select(["caller", "space"])
    .where("id", "=", outputIdIn(name) ?? "");
}

/** The caller that the blob at a key is recorded for; undefined if there is none. */
export async function ownerOf(db: Statements, { name, space }: StorageKey): Promise<string | undefined> {
  const recorded = db
    .selectFrom("blobs")
    .select("caller")
    .where("space", "=", space)
    .where("name", "=", name);
  const made = selectOperation(db, name).where("space", "=", space);
  return ((await recorded.executeTakeFirst()) ?? (await made.executeTakeFirst()))?.caller;
}

/** Whether a key belongs to another caller. */
export async function isTaken(db: Statements, { name, space }: StorageKey, caller: string): Promise<boolean> {
  const other = db
    .selectFrom("blobs")
    .select("name")
    .where(({ and }) => and({ space, name }));
  return (await other.where("caller", "<>", caller).executeTakeFirst()) !== undefined;
}

/** Reads the record of a caller's blob, even while it is reserved or being removed. */
export async function recordOf(db: Statements, caller: string, name: string) {
  const row = await selectRecord(db, caller, name).executeTakeFirst();
  return row && { ...row, isRemoved: row.state === "removing" };
}

/** Records a new or replaced blob in the storage, and counts it. Locks the caller's usage until the transaction ends. */
export async function recordBlob(
  database: Database,
  db: Statements,
  { caller, name, space, bytes, contents }: BlobRecord,
): Promise<void> {
  await lockUsage(db, caller);
  const before = await recordOf(db, caller, name);
  const known = { bytes, contents: contents === undefined ? null : JSON.stringify(contents) };
  if (before === undefined)
    await db
      .insertInto("blobs")
      .values({ caller, name, space, ...known })
      .execute();
  else
    await db
      .updateTable("blobs")
      .set({ ...known, created_at: database.time(), state: "stored", removed_at: null })
      .where(({ and }) => and({ caller, name }))
      .execute();
  await count(db, caller, (bytes ?? 0) - (before?.bytes ?? 0), before === undefined ? 1 : 0);
}

/** Records an uploaded blob, unless it is being removed: the removal may take its bytes. @returns whether it is recorded. */
export function recordUpload(database: Database, blob: BlobRecord): Promise<boolean> {
  return database.write(async (db) => {
    await lockUsage(db, blob.caller);
    if ((await recordOf(db, blob.caller, blob.name))?.isRemoved) return false;
    await recordBlob(database, db, blob);
    return true;
  });
}

/**
 * Records the name of a blob before its first bytes are stored, so that no other caller finds bytes without an owner. It hides the blob
 * as a removal does.
 */
export function reserveBlob(
  database: Database,
  { caller, name, space }: BlobRecord | (RecordKey & StorageKey),
): Promise<void> {
  return database.write(async (db) => {
    await lockUsage(db, caller);
    if (await recordOf(db, caller, name)) return;
    await db
      .insertInto("blobs")
      .values({ caller, name, space, state: "reserved", removed_at: database.time() })
      .execute();
    await count(db, caller, 0, 1);
  });
}

/** Removes the record of a blob that was reserved and not uploaded. */
export function discardReserved(database: Database, key: RecordKey): Promise<void> {
  return database.write((db) => removeRecord(db, key, "reserved"));
}

/** Removes the record of a blob in that state, and its share of the caller's usage. */
export async function removeRecord(
  db: Statements,
  { caller, name }: RecordKey,
  state: "reserved" | "removing",
): Promise<void> {
  await lockUsage(db, caller);
  const removed = await db
    .deleteFrom("blobs")
    .where(({ and }) => and({ caller, name, state }))
    .returning("bytes")
    .executeTakeFirst();
  if (removed) await count(db, caller, -(removed.bytes ?? 0), -1);
}

/** The quota of a caller. An upload counts once it is recorded, and before that at its own service. */
export interface Quota {
  readonly bytes: number;
  readonly blobs: number;
}

/** What a caller has stored. */
export interface Usage {
  readonly bytes: number;
  readonly blobs: number;
}

/** Locks a caller's usage: no other transaction changes it before this one ends. */
async function lockUsage(db: Statements, caller: string): Promise<void> {
  await db
    .insertInto("blob_usage")
    .values({ caller })
    .onConflict((conflict) => conflict.column("caller").doUpdateSet({ caller }))
    .execute();
}

async function count(db: Statements, caller: string, bytes: number, blobs: number): Promise<void> {
  await db
    .updateTable("blob_usage")
    .set(({ eb }) => ({ bytes: eb("bytes", "+", bytes), blobs: eb("blobs", "+", blobs) }))
    .where("caller", "=", caller)
    .execute();
}

/** What a caller has stored, with one output for each active operation. One that ends between the statements counts twice. */
export async function usageOf(db: Statements, caller: string): Promise<Usage> {
  const { active } = await db
    .selectFrom("operations")
    .select(({ fn }) => fn.countAll<number>().as("active"))
    .where("caller", "=", caller)
    .where("status", "in", ACTIVE_STATUSES)
    .executeTakeFirstOrThrow();
  const usage = db.selectFrom("blob_usage").select(["bytes", "blobs"]).where("caller", "=", caller);
  const { bytes = 0, blobs = 0 } = (await usage.executeTakeFirst()) ?? {};
  return { bytes, blobs: blobs + active };
}

/**
 * Checks whether one more output fits a caller's quota, and locks the usage until the transaction ends, so that concurrent
 * submissions count each other.
 * @returns the usage without it if it does not fit.
 */
export async function overQuota(db: Statements, caller: string, quota: Quota): Promise<Usage | undefined> {
  await lockUsage(db, caller);
  const used = await usageOf(db, caller);
  return used.bytes >= quota.bytes || used.blobs >= quota.blobs ? used : undefined;
}

/** The error for a caller whose quota has no space for another blob. @param used the usage without it. */
export function quotaExceeded(used: Usage, quota: Quota): MucastError {
  const setting = used.blobs >= quota.blobs ? "stored_blobs_per_caller" : "stored_bytes_per_caller";
  const message =
    `this caller has ${used.blobs} blobs of ${used.bytes} bytes, including uploads in progress and expected outputs, ` +
    `and may have ${quota.blobs} of ${quota.bytes} (${setting})`;
  return new MucastError("quota_exceeded", message, { used, quota });
}

/** A blob that is being removed, or is to be. */
export interface RemovedBlob extends StorageKey, RecordKey {}

/**
 * A removal that takes longer counts as interrupted. Until then, only one service does it: a second one might remove a blob that was
 * uploaded after the first had finished. Longer than the storage takes for a request with all its retries.
 */
const REMOVAL_SECONDS = 600;
/** A name that was reserved for longer belongs to an upload whose service was killed. */
const RESERVED_SECONDS = 7 * 86_400;

/** The blobs that no service is removing or uploading any more. */
function selectInterrupted(database: Database, db: Statements) {
  return db
    .selectFrom("blobs")
    .select(["caller", "name", "space"])
    .where((eb) =>
      eb.or([
        eb.and([eb("state", "=", "removing"), eb("removed_at", "<", database.time(-REMOVAL_SECONDS))]),
        eb.and([eb("state", "=", "reserved"), eb("removed_at", "<", database.time(-RESERVED_SECONDS))]),
      ]),
    );
}

/**
 * Hides a blob from its caller before it is removed from the storage. If a submission that names the blob runs concurrently, either
 * it comes first and the blob stays, or it comes later and is refused.
 * @param isRecorded whether the caller saw a record of it, or a blob without a record.
 * @returns false if another removal is doing it or has done it.
 * @throws MucastError blob_in_use while an active operation names it.
 */
export function markRemoved(
  database: Database,
  { caller, ...blob }: RemovedBlob,
  isRecorded: boolean,
): Promise<boolean> {
  return database.write(async (db) => {
    await lockUsage(db, caller);
    // Waits for submissions, which lock the record while they are inserted; the next statement sees their rows.
    const record = await selectRecord(db, caller, blob.name)
      .modifyEnd(database.lock("blobs", "wait"))
      .executeTakeFirst();
    if (isRecorded) {
      const isFree = record?.state === "stored" || record?.state === "reserved";
      if (!isFree && !(await isInterrupted(database, db, { caller, name: blob.name }))) return false;
    }
    const operations = await namedBy(db, caller, blob);
    if (operations.length > 0) {
      const message = `${blob.name} is named by operations that wait or run: ${operations.join(", ")}`;
      throw new MucastError("blob_in_use", message, { path: "name", operations });
    }
    await markRemoving(database, db, { caller, name: blob.name });
    return true;
  });
}

async function isInterrupted(
  database: Database,
  db: Statements,
  { caller, name }: RecordKey,
): Promise<boolean> {
  const found = selectInterrupted(database, db).where(({ and }) => and({ caller, name }));
  return (await found.executeTakeFirst()) !== undefined;
}

async function markRemoving(database: Database, db: Statements, { caller, name }: RecordKey): Promise<void> {
  await db
    .updateTable("blobs")
    .set({ state: "removing", removed_at: database.time() })
    .where(({ and }) => and({ caller, name }))
    .execute();
}

/** Marks a removal that the storage refused, so that the next request may retry it at once. */
export function markInterrupted(database: Database, { caller, name }: RecordKey): Promise<void> {
  return database.write(async (db) => {
    await db
      .updateTable("blobs")
      .set({ removed_at: new Date(0) })
      .where(({ and }) => and({ caller, name, state: "removing" }))
      .execute();
  });
}

/** Claims one interrupted removal. @returns false if it is not interrupted, or another service has claimed it. */
export function claimRemoval(database: Database, key: RecordKey): Promise<boolean> {
  return database.write(async (db) => {
    await lockUsage(db, key.caller);
    if (!(await isInterrupted(database, db, key))) return false;
    await markRemoving(database, db, key);
    return true;
  });
}

const BATCH = 100;

/** The next interrupted removals, in the order of caller and name. @param after undefined for the first batch. */
export function interruptedRemovals(
  database: Database,
  after: RecordKey | undefined,
): Promise<RemovedBlob[]> {
  const query = selectInterrupted(database, database.db).orderBy("caller").orderBy("name").limit(BATCH);
  if (after === undefined) return query.execute();
  return query
    .where(({ eb, refTuple, tuple }) => eb(refTuple("caller", "name"), ">", tuple(after.caller, after.name)))
    .execute();
}

const MAX_OPERATIONS_LISTED = 10;

/** Ids of active operations that read the blob or will write it. Their options name it as a JSON string. */
async function namedBy(db: Statements, caller: string, blob: StorageKey): Promise<string[]> {
  const path = storagePathOf(blob);
  const active = await db
    .selectFrom("operations")
    .select(["id", "feature_url", "data_extractor_url", "options"])
    .where("caller", "=", caller)
    .where("status", "in", ACTIVE_STATUSES)
    .orderBy("ordinal")
    .execute();
  return active
    .filter(
      ({ id, feature_url, data_extractor_url, options }) =>
        id === outputIdIn(blob.name) ||
        [feature_url, data_extractor_url, ...Object.values(options)].includes(path),
    )
    .slice(0, MAX_OPERATIONS_LISTED)
    .map(({ id }) => id);
}

/** A recorded blob as a list shows it. */
export interface ListedBlob extends StorageKey {
  readonly kind: BlobKind;
  /** Null if unknown. */
  readonly bytes: number | null;
  readonly createdAt: Date;
  /** Null if no preparation has stored it. */
  readonly contents: BlobContents | null;
}

/** The last blob of a page. */
interface PageEnd {
  readonly name: string;
  readonly createdAt: Date;
}

/** The kind of a blob, from its name. */
const KIND = sql<BlobKind>`case
  when name like 'feature\\_engine\\_%' escape '\\' then 'features'
  when name like 'data\\_extractor\\_%' escape '\\' then 'prices'
  else 'output' end`;

/**
 * Reads at most `limit` blobs of a caller, newest first.
 * @returns `cursor`: for the next page; undefined after the last one.
 */
export async function listBlobs(
  db: Statements,
  caller: string,
  {
    kind,
    limit,
    after,
  }: { readonly kind?: BlobKind | undefined; readonly limit: number; readonly after: PageEnd | undefined },
): Promise<{ readonly blobs: readonly ListedBlob[]; readonly cursor: string | undefined }> {
  let query = db
    .selectFrom("blobs")
    .select(["name", "space", "bytes", "created_at", "contents", KIND.as("kind")])
    .where(({ and }) => and({ caller, state: "stored" }))
    .orderBy("created_at", "desc")
    .orderBy("name", "desc")
    .limit(limit + 1);
  if (kind !== undefined) query = query.where(KIND, "=", kind);
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple("created_at", "name"), "<", tuple(after.createdAt, after.name)),
    );
  const rows = await query.execute();
  const blobs = rows.slice(0, limit).map(({ created_at, ...blob }) => ({ ...blob, createdAt: created_at }));
  const last = blobs.at(-1);
  return { blobs, cursor: last && rows.length > blobs.length ? cursorAfter(last) : undefined };
}

function cursorAfter({ name, createdAt }: PageEnd): string {
  return Buffer.from(`${createdAt.getTime()} ${name}`).toString("base64url");
}

/** Up to the year 2286. */
const CURSOR = /^(\d{1,13}) ([A-Za-z0-9_.-]{1,100})$/;

/** @throws MucastError invalid_request for a text that `listBlobs` did not return. */
export function blobPageEnd(cursor: string): PageEnd {
  const [, time, name] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (time === undefined || name === undefined) throw unknownCursor(cursor);
  return { name, createdAt: new Date(Number(time)) };
}
