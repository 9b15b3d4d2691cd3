import type { BlobStore } from "../../blob/store.ts";
import type { BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Database } from "../database/database.ts";
import {
  blobPageEnd,
  findBlob,
  isTaken,
  listBlobs,
  ownerOf,
  type Quota,
  recordOf,
  reserveBlob,
  type StorageKey,
  usageOf,
} from "../store/blobs.ts";
import {
  type BlobAddress,
  type Blobs,
  type BlobUpload,
  type FoundBlob,
  type ListedBlobs,
  spaceOf,
} from "./blobs.ts";
import { finishRemoval, removeStored } from "./stored-removals.ts";
import { startUpload, UploadRooms } from "./uploads.ts";

export interface StoredBlobsParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly settings: { readonly auth: "none" | "keys" | "oidc" };
  readonly quota: Quota;
}

/** Blobs over the database and the storage. */
export class StoredBlobs implements Blobs {
  readonly #parts: StoredBlobsParts;
  readonly #rooms: UploadRooms;

  constructor(parts: StoredBlobsParts) {
    this.#parts = parts;
    this.#rooms = new UploadRooms(parts.quota);
  }

  async list({ subject }: Caller, { cursor: given, ...query }: BlobListQuery): Promise<ListedBlobs> {
    const { database, store } = this.#parts;
    const after = given === undefined ? undefined : blobPageEnd(given);
    const { blobs, cursor } = await listBlobs(database.db, subject, { ...query, after });
    return { blobs: blobs.map((blob) => ({ ...blob, store: store.within(blob.space) })), cursor };
  }

  async find({ subject }: Caller, name: string): Promise<FoundBlob | undefined> {
    const found = await findBlob(this.#parts.database.db, subject, name);
    if (found) return this.#addressOf(found);
    // Without authentication there is one caller, who may also use the operator's own files.
    const open = { name, space: "" };
    const isOpen = this.#parts.settings.auth === "none" && (await this.#isUnowned(open));
    return isOpen ? this.#addressOf(open) : undefined;
  }

  async uploadAddress({ subject }: Caller, name: string): Promise<BlobAddress | undefined> {
    const { database, settings } = this.#parts;
    const record = await recordOf(database.db, subject, name);
    const address = this.#addressOf(record ?? { name, space: spaceOf(subject) });
    if (record !== undefined || spaceOf(subject) !== "") return address;
    // Before its owner, because a concurrent upload reserves its name before its bytes are stored.
    const isStored = settings.auth !== "none" && (await address.store.stat(address.key)) !== undefined;
    const owner = await ownerOf(database.db, { name, space: "" });
    if (owner !== undefined) return owner === subject ? address : undefined;
    // With authentication, an unrecorded blob belongs to the operator and all callers may read it.
    return isStored ? undefined : address;
  }

  async beginUpload(
    { subject: caller }: Caller,
    name: string,
    bytes?: number,
  ): Promise<BlobUpload | undefined> {
    const { database, quota, settings } = this.#parts;
    if (bytes !== undefined && bytes > quota.bytes) throw tooLargeForQuota(name, bytes, quota);
    const record = await recordOf(database.db, caller, name);
    if (record?.isRemoved) await finishRemoval(this.#parts, record);
    const isNew = record === undefined || record.isRemoved;
    const space = isNew ? spaceOf(caller) : record.space;
    if (isNew && (await isTaken(database.db, { name, space }, caller))) return undefined;
    const room = await this.#rooms.open(caller, isNew, () => usageOf(database.db, caller));
    try {
      room.take(bytes ?? 0);
      // Without an owner, blobs at the root belong to the operator, and jobs of all callers may read them.
      const isReserved = isNew && space === "" && settings.auth !== "none";
      if (isReserved) await reserveBlob(database, { caller, name, space });
      const address = this.#addressOf({ name, space });
      return startUpload({ database, ...address, room, isReserved }, { caller, name, space });
    } catch (error) {
      room.close();
      throw error;
    }
  }

  async remove({ subject: caller }: Caller, name: string): Promise<boolean> {
    const { database } = this.#parts;
    const record = await recordOf(database.db, caller, name);
    const found =
      record ?? (await findBlob(database.db, caller, name)) ?? (await this.#unrecorded(caller, name));
    if (found === undefined) return false;
    return removeStored(this.#parts, { caller, name, space: found.space }, record !== undefined);
  }

  /** Finds a blob without a record that the caller may remove. */
  async #unrecorded(subject: string, name: string): Promise<StorageKey | undefined> {
    const unrecorded = { name, space: "" };
    const { store, key } = this.#addressOf(unrecorded);
    const isOnlyCaller = this.#parts.settings.auth === "none" && spaceOf(subject) === "";
    if (!isOnlyCaller || !(await this.#isUnowned(unrecorded, subject))) return undefined;
    return (await store.stat(key)) === undefined ? undefined : unrecorded;
  }

  /** @param but a caller whose ownership does not count. */
  async #isUnowned(key: StorageKey, but?: string): Promise<boolean> {
    const owner = await ownerOf(this.#parts.database.db, key);
    return owner === undefined || owner === but;
  }

  #addressOf({ name, space }: StorageKey): FoundBlob {
    return { space, store: this.#parts.store.within(space), key: `data/${name}` };
  }
}

function tooLargeForQuota(name: string, bytes: number, quota: Quota): MucastError {
  const message = `${name} has ${bytes} bytes, and a caller may store ${quota.bytes} in all (stored_bytes_per_caller)`;
  return new MucastError("too_large", message, { path: "Content-Length", value: bytes, limit: quota.bytes });
}
