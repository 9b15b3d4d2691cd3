import { sql } from "kysely";
import { outputIdIn } from "../../blob/names.ts";
import type { BlobStore } from "../../blob/store.ts";
import type { BlobContents, BlobKind, BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Database } from "../database/database.ts";
import type { Statements } from "../database/tables.ts";
import { repeatSweep } from "../row-sweep.ts";
import {
  addUsage,
  lockUsage,
  type Quota,
  quotaExceeded,
  recordBlob,
  type StorageKey,
  storagePathOf,
  type Usage,
  usageOf,
} from "../store/blobs.ts";
import { cursorAfter, parseCursor } from "../store/cursors.ts";
import { ACTIVE_STATUSES } from "../store/operation-view.ts";
import type { Log } from "../telemetry/log.ts";
import { spaceOf, storageFailed } from "./storage.ts";

export interface BlobAddress {
  readonly space: string;
  readonly store: BlobStore;
  readonly key: string;
}

/** What a preparation knows of the bytes with that tag. */
interface KnownContents {
  readonly contents: BlobContents;
  readonly etag: string;
}

export type Blobs = Pick<StoredBlobs, "list" | "find" | "uploadAddress" | "beginUpload" | "remove">;
export type BlobUpload = NonNullable<Awaited<ReturnType<Blobs["beginUpload"]>>>;

export interface StoredBlobsParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly settings: { readonly auth: "none" | "keys" | "oidc" };
  readonly quota: Quota;
}

interface OwnedBlob extends StorageKey {
  readonly caller: string;
}

/** An upload in progress. The database counts it only once it is recorded, so this service counts it before. */
interface Uploading extends OwnedBlob {
  bytes: number;
  readonly blobs: number;
  /** What the caller had stored when the upload began, and has stored since through this service. */
  stored: Usage;
}

/** A longer removal counts as interrupted. Until then one service does it: a second might remove a blob uploaded since. */
const REMOVAL_SECONDS = 600;
/** A name that was reserved for longer belongs to an upload that failed, or whose service was killed. */
const RESERVED_SECONDS = 7 * 86_400;
const HOUR_MILLISECONDS = 3_600_000;
const RETRY_SECONDS = 1;
const MAX_OPERATIONS_LISTED = 10;

const KIND = sql<BlobKind>`case
  when name like 'feature\\_engine\\_%' escape '\\' then 'features'
  when name like 'data\\_extractor\\_%' escape '\\' then 'prices'
  else 'output' end`;

/**
 * The blobs of all callers: rows of the database, and bytes in the storage. Each caller has a separate space and a quota, and cannot see
 * blobs of other callers.
 *
 * A caller finds a blob if its row is `stored`. An upload stores the bytes, then the row. A removal makes the row `removing`, which hides
 * the blob, removes the bytes, then the row. If it is interrupted, the next request for the name, or the hourly sweep, finishes it. Bytes
 * without a row are orphans that no caller finds, except in the root of the storage: there, they are the operator's own, and jobs of all
 * callers may read them. So an upload into the root makes a row `reserved` before the bytes, hidden like a removal.
 */
export class StoredBlobs {
  readonly #parts: StoredBlobsParts;
  readonly #uploads = new Set<Uploading>();

  constructor(parts: StoredBlobsParts) {
    this.#parts = parts;
  }

  async list({ subject: caller }: Caller, { kind, limit, cursor }: BlobListQuery) {
    const { database, store } = this.#parts;
    let query = database.db
      .selectFrom("blobs")
      .select(["name", "space", "bytes", "created_at", "contents", KIND.as("kind")])
      .where(({ and }) => and({ caller, state: "stored" }))
      .orderBy("created_at", "desc")
      .orderBy("name", "desc")
      .limit(limit + 1);
    if (kind !== undefined) query = query.where(KIND, "=", kind);
    if (cursor !== undefined) {
      const after = parseCursor(cursor);
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("created_at", "name"), "<", tuple(after.createdAt, after.name)),
      );
    }
    const rows = await query.execute();
    const blobs = rows
      .slice(0, limit)
      .map(({ created_at: createdAt, ...blob }) => ({ ...blob, createdAt, store: store.within(blob.space) }));
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { blobs, cursor: last && cursorAfter(last.created_at, last.name) };
  }

  async locate(caller: string, name: string): Promise<StorageKey | undefined> {
    const row = await this.#readRow(caller, name);
    return row?.state === "stored" ? row : undefined;
  }

  /** Whether every caller may read a blob at the root of the storage: the operator put it there, and it belongs to no caller. */
  async isOpen(name: string): Promise<boolean> {
    const { settings, store } = this.#parts;
    if ((await this.#findOwnerAtRoot(name)) !== undefined) return false;
    return settings.auth === "none" || (await store.stat(`data/${name}`)) !== undefined;
  }

  /** Finds a blob that the caller may read; undefined if there is none. The store may lack a blob that was found. */
  async find({ subject }: Caller, name: string): Promise<BlobAddress | undefined> {
    const own = await this.locate(subject, name);
    if (own !== undefined) return this.#addressOf(own);
    // Without authentication there is one caller, who may also use the operator's own files.
    const mayBeOpen = this.#parts.settings.auth === "none" && (await this.isOpen(name));
    return mayBeOpen ? this.#addressOf({ name, space: "" }) : undefined;
  }

  /** The target of an upload of that name; undefined if the caller may not write there. */
  async uploadAddress({ subject: caller }: Caller, name: string): Promise<BlobAddress | undefined> {
    const row = await this.#readRow(caller, name);
    const space = row?.space ?? spaceOf(caller);
    const address = this.#addressOf({ name, space });
    if (row !== undefined || space !== "") return address;
    // Before its owner: an upload reserves its name before its bytes.
    const stored = await address.store.stat(address.key);
    const owner = await this.#findOwnerAtRoot(name);
    // With authentication, bytes without an owner are the operator's.
    const isFree = stored === undefined || this.#parts.settings.auth === "none";
    return owner === caller || (owner === undefined && isFree) ? address : undefined;
  }

  /** @param bytes undefined if not known in advance. @returns undefined if the caller may not write there. */
  async beginUpload(owner: Caller, name: string, bytes?: number) {
    const { database, quota, settings } = this.#parts;
    const caller = owner.subject;
    if (bytes !== undefined && bytes > quota.bytes) {
      const limit = quota.bytes;
      const message = `${name} has ${bytes} bytes, and a caller may store ${limit} in all (stored_bytes_per_caller)`;
      throw new MucastError("too_large", message, { path: "Content-Length", value: bytes, limit });
    }
    let row = await this.#readRow(caller, name);
    if (row?.state === "removing") {
      if (!(await this.#removeBlob(row, "interrupted"))) throw beingRemoved(name);
      row = undefined;
    }
    const address = await this.uploadAddress(owner, name);
    if (address === undefined) return undefined;
    const { space } = address;
    const stored = { bytes: 0, blobs: 0 };
    const upload: Uploading = { caller, name, space, bytes: 0, blobs: row === undefined ? 1 : 0, stored };
    let isReserved = false;
    this.#uploads.add(upload);
    try {
      // Another upload that ends during the read may count twice, and is never missed.
      upload.stored = sum(await usageOf(database.db, caller), upload.stored);
      this.#takeRoom(upload, bytes ?? 0);
      if (row === undefined && space === "" && settings.auth !== "none")
        isReserved = await this.#lock(caller, async (db) => {
          if ((await this.#readRow(caller, name, db)) !== undefined) return false;
          await recordBlob(database, db, { caller, name, space, bytes: null }, "reserved");
          return true;
        });
    } catch (error) {
      this.#uploads.delete(upload);
      throw error;
    }
    return {
      ...address,
      checkRoom: (needed: number): void => this.#takeRoom(upload, needed),
      /** Records the blob once the store has it. Throws unavailable if the caller removes the blob meanwhile. */
      finish: (size: number, known?: KnownContents): Promise<void> => this.#finishUpload(upload, size, known),
      close: async (): Promise<void> => {
        const isUnfinished = this.#uploads.delete(upload);
        // If bytes are stored without a record, by this or another upload, the name stays reserved.
        if (isUnfinished && isReserved && !(await address.store.stat(address.key).catch(() => true)))
          await this.#dropRow(upload, "reserved");
      },
    };
  }

  #takeRoom(upload: Uploading, bytes: number): void {
    const { quota } = this.#parts;
    const used = this.#othersOf(upload).reduce(sum, upload.stored);
    if (used.blobs + upload.blobs > quota.blobs || used.bytes + bytes > quota.bytes)
      throw quotaExceeded(used, quota);
    upload.bytes = Math.max(upload.bytes, bytes);
  }

  #othersOf(upload: Uploading): Uploading[] {
    return [...this.#uploads].filter((other) => other !== upload && other.caller === upload.caller);
  }

  async #finishUpload(upload: Uploading, bytes: number, known?: KnownContents): Promise<void> {
    const { caller, name } = upload;
    const { store, key } = this.#addressOf(upload);
    for (let size = bytes, contents = known?.contents; ; contents = undefined) {
      const isRecorded = await this.#lock(caller, async (db) => {
        if ((await this.#readRow(caller, name, db))?.state === "removing") return false;
        await recordBlob(this.#parts.database, db, { ...upload, bytes: size, contents });
        return true;
      });
      // A removal may take the bytes before they are recorded, and another upload of the name may replace them.
      const stored = isRecorded ? await store.stat(key) : undefined;
      if (stored === undefined) throw beingRemoved(name);
      if (stored.size === size && (contents === undefined || stored.etag === known?.etag)) break;
      size = stored.size;
    }
    this.#uploads.delete(upload);
    for (const other of this.#othersOf(upload))
      other.stored = sum(other.stored, { bytes, blobs: upload.blobs });
  }

  async remove(caller: Caller, name: string): Promise<boolean> {
    const row = await this.#readRow(caller.subject, name);
    const space = (row ?? (await this.find(caller, name)))?.space;
    if (space === undefined) return false;
    const { store, key } = this.#addressOf({ name, space });
    const isThere = row !== undefined || (await store.stat(key)) !== undefined;
    const blob = { caller: caller.subject, name, space };
    return (await this.#removeBlob(blob, row === undefined ? "unrecorded" : "recorded")) && isThere;
  }

  /** Finishes interrupted removals, at once and then every hour. @returns a function that stops it. */
  keepFinishingRemovals(log: Log): () => Promise<void> {
    return repeatSweep(
      (signal) => this.finishRemovals(log, signal),
      HOUR_MILLISECONDS,
      (error) =>
        log.warn({ err: error }, "interrupted removals could not be read; the service will try again"),
    );
  }

  async finishRemovals(log: Log, signal: AbortSignal): Promise<void> {
    let failures = 0;
    const hidden = this.#selectRows(this.#parts.database.db).where("removed_at", "is not", null);
    for (const row of await hidden.execute()) {
      if (signal.aborted) return;
      if (!row.isInterrupted) continue;
      await this.#removeBlob(row, "interrupted").catch((error: unknown) => {
        // If the storage is unreachable, all fail.
        if (failures++ === 0)
          log.warn({ err: error, name: row.name }, "interrupted removals could not be finished yet");
      });
    }
  }

  /** A submission that names the blob meanwhile either comes first, and the blob stays, or comes later and is refused. */
  async #removeBlob(blob: OwnedBlob, seen: "recorded" | "unrecorded" | "interrupted"): Promise<boolean> {
    const { caller, name } = blob;
    const isClaimed = await this.#lock(caller, async (db) => {
      const row = await this.#readRow(caller, name, db);
      if (row === undefined && seen !== "unrecorded") return false;
      const isFree = row?.state !== "removing" && seen !== "interrupted";
      if (!isFree && !row?.isInterrupted) return false;
      const operations = await readActiveUsers(db, blob);
      if (operations.length > 0) {
        const message = `${name} is named by operations that wait or run: ${operations.join(", ")}`;
        throw new MucastError("blob_in_use", message, { path: "name", operations });
      }
      const removing = { state: "removing", removed_at: this.#parts.database.time() } as const;
      const blobs = db.updateTable("blobs").set(removing);
      await blobs.where(({ and }) => and({ caller, name })).execute();
      return true;
    });
    if (!isClaimed) return false;
    const { store, key } = this.#addressOf(blob);
    try {
      await store.remove(key);
    } catch (error) {
      // So that the next request tries again at once; if the database is unreachable too, one does after REMOVAL_SECONDS.
      const interrupt = (db: Statements) =>
        db
          .updateTable("blobs")
          .set({ removed_at: new Date(0) })
          .where(({ and }) => and({ caller, name, state: "removing" }))
          .execute();
      await this.#parts.database.write(interrupt).catch(() => undefined);
      throw storageFailed(error, `${name} could not be removed`);
    }
    await this.#dropRow(blob, "removing");
    return true;
  }

  #dropRow({ caller, name }: OwnedBlob, state: "removing" | "reserved"): Promise<void> {
    return this.#lock(caller, async (db) => {
      const rows = db.deleteFrom("blobs").where(({ and }) => and({ caller, name, state }));
      const removed = await rows.returning("bytes").executeTakeFirst();
      if (removed) await addUsage(db, caller, { bytes: -(removed.bytes ?? 0), blobs: -1 });
    });
  }

  #addressOf({ name, space }: StorageKey): BlobAddress {
    return { space, store: this.#parts.store.within(space), key: `data/${name}` };
  }

  /** A transaction that overlaps no other change of the caller's blobs, and no submission of the caller. */
  #lock<T>(caller: string, body: (db: Statements) => Promise<T>): Promise<T> {
    return this.#parts.database.write(async (db) => {
      await lockUsage(db, caller);
      return body(db);
    });
  }

  #readRow(caller: string, name: string, db = this.#parts.database.db) {
    const rows = this.#selectRows(db);
    return rows.where(({ and }) => and({ caller, name })).executeTakeFirst();
  }

  /** With `isInterrupted`: whether no service is removing or uploading a hidden blob any more. */
  #selectRows(db: Statements) {
    const { database } = this.#parts;
    const isInterrupted = sql<boolean>`(state = 'removing' and removed_at < ${database.time(-REMOVAL_SECONDS)}
      or state = 'reserved' and removed_at < ${database.time(-RESERVED_SECONDS)})`.as("isInterrupted");
    return db.selectFrom("blobs").select(["caller", "name", "space", "state", isInterrupted]);
  }

  /** The caller who has recorded the blob of that name at the root, or whose operation writes it. */
  async #findOwnerAtRoot(name: string): Promise<string | undefined> {
    const { db } = this.#parts.database;
    const recorded = db.selectFrom("blobs").select("caller");
    const made = db.selectFrom("operations").select("caller");
    const owner =
      (await recorded.where(({ and }) => and({ space: "", name })).executeTakeFirst()) ??
      (await made.where(({ and }) => and({ space: "", id: outputIdIn(name) ?? "" })).executeTakeFirst());
    return owner?.caller;
  }
}

/** Ids of active operations that read the blob. Their options name it as a JSON string. */
async function readActiveUsers(db: Statements, { caller, name, space }: OwnedBlob): Promise<string[]> {
  const active = await db
    .selectFrom("operations")
    .select(["id", "feature_url", "data_extractor_url", "options"])
    .where("caller", "=", caller)
    .where("status", "in", ACTIVE_STATUSES)
    .orderBy("ordinal")
    .execute();
  const path = storagePathOf({ name, space });
  const users = active.filter(({ feature_url, data_extractor_url, options }) =>
    [feature_url, data_extractor_url, ...Object.values(options)].includes(path),
  );
  return users.slice(0, MAX_OPERATIONS_LISTED).map(({ id }) => id);
}

function beingRemoved(name: string): MucastError {
  return new MucastError("unavailable", `${name} is being removed`, { retryAfter: RETRY_SECONDS });
}

function sum(a: Usage, b: Usage): Usage {
  return { bytes: a.bytes + b.bytes, blobs: a.blobs + b.blobs };
}
