import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import { type RecordKey, resizeBlob } from "../store/blob-records.ts";
import {
  finishUnchanged,
  finishUpload,
  growUpload,
  type Quota,
  quotaExceeded,
  releaseUpload,
  type UploadRow,
} from "../store/blob-uploads.ts";
import type { Log } from "../telemetry/log.ts";
import type { BlobUpload } from "./blobs.ts";
import type { StoredRemovals } from "./stored-removals.ts";

interface UploadParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly key: string;
  readonly quota: Quota;
  readonly log: Log;
  readonly removals: Pick<StoredRemovals, "remove">;
  /** Called when its space is recorded or released, or waits for the reconciliation to release it. */
  readonly onEnd: () => void;
}

/** An upload of unknown length reserves at least this much, and then twice its current size. */
const STEP_BYTES = 16 * 2 ** 20;

/** An upload whose space is reserved in the database. */
export class StoredUpload implements BlobUpload {
  readonly store: BlobStore;
  readonly key: string;
  readonly #parts: UploadParts;
  readonly #row: UploadRow;
  #room: number;
  /** The version of the record that it created; undefined if there already was one. */
  #version: string | undefined;

  constructor(parts: UploadParts, row: UploadRow) {
    this.store = parts.store;
    this.key = parts.key;
    this.#parts = parts;
    this.#row = row;
    this.#room = row.bytes;
  }

  async reserve(bytes: number): Promise<void> {
    if (bytes <= this.#room) return;
    const { database, quota } = this.#parts;
    const wished = Math.max(bytes, 2 * this.#room, STEP_BYTES);
    const grown = await growUpload(database, this.#row, { needed: bytes, wished }, quota);
    if (grown === "gone") throw leaseLapsed();
    if ("used" in grown) throw quotaExceeded(grown.used, quota);
    this.#room = grown.bytes;
  }

  async finish(bytes: number): Promise<void> {
    const { id, caller, name, space } = this.#row;
    try {
      this.#version = await finishUpload(this.#parts.database, id, { caller, name, space, bytes });
      await this.#recordStoredSize(bytes);
    } finally {
      this.#parts.onEnd();
    }
  }

  async #recordStoredSize(bytes: number): Promise<void> {
    try {
      await recordStoredSize(this.#parts, this.#row, bytes);
    } catch (error) {
      this.#parts.log.warn(
        { err: error },
        "whether an upload is stored as large as it is recorded is not known",
      );
    }
  }

  async keep(): Promise<void> {
    try {
      await finishUnchanged(this.#parts.database, this.#row);
    } finally {
      this.#parts.onEnd();
    }
  }

  async rollBack(): Promise<void> {
    const { caller, name, space } = this.#row;
    const target = { recorded: true, version: this.#version };
    if (this.#version !== undefined) await this.#parts.removals.remove(caller, { name, space }, target);
  }

  async discard(): Promise<void> {
    try {
      await releaseUpload(this.#parts.database, this.#row.id);
    } catch (error) {
      this.#parts.log.warn({ err: error }, "the reserved space of a failed upload will be released later");
    } finally {
      this.#parts.onEnd();
    }
  }
}

/**
 * Concurrent uploads of one name may be recorded in another order than they were stored. Each compares after it has recorded a size,
 * so the last one records the size of the blob in the store.
 */
export async function recordStoredSize(
  { database, store, key }: Pick<UploadParts, "database" | "store" | "key">,
  record: RecordKey,
  bytes: number,
): Promise<void> {
  for (let recorded = bytes; ; ) {
    const stored = (await store.stat(key))?.size;
    if (stored === undefined || stored === recorded) return;
    await database.transaction((statements) => resizeBlob(statements, record, stored));
    recorded = stored;
  }
}

/** The database was unreachable for longer than the lease, and another service has settled the upload. */
function leaseLapsed(): MucastError {
  return new MucastError("unavailable", "the upload was considered interrupted; send it again", {
    retryAfter: 1,
  });
}
