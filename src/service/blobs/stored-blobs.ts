import { randomUUID } from "node:crypto";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Database } from "../database/database.ts";
import { findBlob, ownerOf, recordOf, type StorageKey } from "../store/blob-records.ts";
import { beingUploaded } from "../store/blob-removals.ts";
import {
  isUploaded,
  type Quota,
  quotaExceeded,
  renewUploads,
  reserveUpload,
  UPLOAD_LEASE_SECONDS,
  type UploadRow,
} from "../store/blob-uploads.ts";
import type { Log } from "../telemetry/log.ts";
import type { OngoingBlobWork } from "./blob-reconciliation.ts";
import { type BlobAddress, type Blobs, type BlobUpload, type FoundBlob, spaceOf } from "./blobs.ts";
import { beingRemoved, type RemovalParts, StoredRemovals } from "./stored-removals.ts";
import { StoredUpload } from "./stored-upload.ts";

export interface StoredBlobsParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly settings: { readonly auth: "none" | "keys" | "oidc" };
  readonly quota: Quota;
  readonly log: Log;
  /** Waits for this many milliseconds; a timer by default. */
  readonly pause?: RemovalParts["pause"];
}

/** Blobs over the database and the storage. */
export class StoredBlobs implements Blobs {
  readonly #parts: StoredBlobsParts;
  /** Ids of the uploads that this service is receiving. */
  readonly #uploads = new Set<string>();
  readonly #removals: StoredRemovals;
  readonly #renewing: NodeJS.Timeout;

  constructor(parts: StoredBlobsParts) {
    this.#parts = parts;
    this.#removals = new StoredRemovals(parts);
    this.#renewing = setInterval(() => void this.#renew(), (UPLOAD_LEASE_SECONDS * 1_000) / 4).unref();
  }

  /** The work that this service is doing. */
  get ongoing(): OngoingBlobWork {
    return { uploads: [...this.#uploads], removals: this.#removals.ongoing };
  }

  close(): void {
    clearInterval(this.#renewing);
  }

  async find({ subject }: Caller, name: string): Promise<FoundBlob | undefined> {
    const found = await findBlob(this.#parts.database, subject, name);
    if (found) return this.#addressOf(found);
    // Without authentication there is one caller, who may also use the operator's own files.
    const open = { name, space: "" };
    const isOpen = this.#parts.settings.auth === "none" && (await this.#isUnowned(open));
    return isOpen ? this.#addressOf(open) : undefined;
  }

  async uploadAddress({ subject }: Caller, name: string): Promise<BlobAddress | undefined> {
    const { database, settings } = this.#parts;
    const record = await recordOf(database, subject, name);
    const address = this.#addressOf(record ?? { name, space: spaceOf(subject) });
    if (record !== undefined || spaceOf(subject) !== "") return address;
    // A concurrent upload of this caller may have been recorded since.
    if (!(await this.#isUnowned({ name, space: "" }, subject))) return undefined;
    // With authentication, an unrecorded blob belongs to the operator and all callers may read it.
    const isOperators = settings.auth !== "none" && (await address.store.stat(address.key)) !== undefined;
    return isOperators ? undefined : address;
  }

  async beginUpload({ subject }: Caller, name: string, bytes?: number): Promise<BlobUpload | undefined> {
    const { quota } = this.#parts;
    if (bytes !== undefined && bytes > quota.bytes) throw tooLargeForQuota(name, bytes, quota);
    const row = { id: randomUUID(), caller: subject, name, space: spaceOf(subject), bytes: bytes ?? 0 };
    // Before the row exists, so that the reconciliation does not take it for an interrupted upload.
    this.#uploads.add(row.id);
    const onEnd = () => void this.#uploads.delete(row.id);
    const space = await this.#reserve(row).catch((error: unknown) => {
      onEnd();
      throw error;
    });
    if (space === undefined) {
      onEnd();
      return undefined;
    }
    return new StoredUpload(
      { ...this.#parts, ...this.#addressOf({ name, space }), removals: this.#removals, onEnd },
      { ...row, space },
    );
  }

  /** @returns the space of the upload; undefined if its key belongs to another caller. */
  async #reserve(row: UploadRow): Promise<string | undefined> {
    const { database, quota } = this.#parts;
    for (;;) {
      const reserved = await reserveUpload(database, row, quota);
      if (reserved.kind === "reserved") return reserved.space;
      if (reserved.kind === "taken") return undefined;
      if (reserved.kind === "full") throw quotaExceeded(reserved.used, quota);
      if ((await this.#removals.settled(row)) === "left") throw beingRemoved(row.name);
    }
  }

  async remove({ subject }: Caller, name: string): Promise<boolean> {
    const { database } = this.#parts;
    const record = await recordOf(database, subject, name);
    const found =
      record ?? (await findBlob(database, subject, name)) ?? (await this.#unrecorded(subject, name));
    if (found !== undefined) return this.#removals.remove(subject, found, { recorded: record !== undefined });
    if (await isUploaded(database, subject, name)) throw beingUploaded(name);
    return false;
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
    const owner = await ownerOf(this.#parts.database, key);
    return owner === undefined || owner === but;
  }

  #addressOf({ name, space }: StorageKey): FoundBlob {
    return { space, store: this.#parts.store.within(space), key: `data/${name}` };
  }

  async #renew(): Promise<void> {
    if (this.#uploads.size === 0) return;
    await renewUploads(this.#parts.database, [...this.#uploads]).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, "the reserved space of running uploads could not be renewed");
    });
  }
}

function tooLargeForQuota(name: string, bytes: number, quota: Quota): MucastError {
  const message = `${name} has ${bytes} bytes, and a caller may store ${quota.bytes} in all (stored_bytes_per_caller)`;
  return new MucastError("too_large", message, { path: "Content-Length", value: bytes, limit: quota.bytes });
}
