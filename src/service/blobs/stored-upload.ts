import type { BlobStore } from "../../blob/store.ts";
import type { Database } from "../database/database.ts";
import { type BlobRecord, discardReserved, recordUpload } from "../store/blobs.ts";
import type { BlobUpload, KnownContents } from "./blobs.ts";
import { beingRemoved } from "./stored-removals.ts";
import type { UploadRoom } from "./upload-rooms.ts";

interface UploadParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly key: string;
  readonly room: UploadRoom;
  /** Whether its name was reserved before its bytes are stored. */
  readonly isReserved: boolean;
}

/** An upload: first its bytes, then its record. */
export class StoredUpload implements BlobUpload {
  readonly store: BlobStore;
  readonly key: string;
  readonly #parts: UploadParts;
  readonly #blob: Omit<BlobRecord, "bytes">;
  #isFinished = false;

  constructor(parts: UploadParts, blob: Omit<BlobRecord, "bytes">) {
    this.store = parts.store;
    this.key = parts.key;
    this.#parts = parts;
    this.#blob = blob;
  }

  checkRoom(bytes: number): void {
    this.#parts.room.take(bytes);
  }

  async finish(bytes: number, known?: KnownContents): Promise<void> {
    const { database, store, key, room } = this.#parts;
    for (let recorded = bytes, contents = known?.contents; ; ) {
      if (!(await recordUpload(database, { ...this.#blob, bytes: recorded, contents })))
        throw beingRemoved(this.#blob.name);
      // A removal may have taken the bytes before they were recorded, and another upload of the name may have replaced them.
      const stored = await store.stat(key);
      if (stored === undefined) throw beingRemoved(this.#blob.name);
      if (stored.size === recorded && (contents === undefined || stored.etag === known?.etag)) break;
      recorded = stored.size;
      // Another upload of the name has unknown contents.
      contents = undefined;
    }
    this.#isFinished = true;
    room.settle(bytes);
  }

  async close(): Promise<void> {
    const { database, store, key, room, isReserved } = this.#parts;
    room.close();
    if (!isReserved || this.#isFinished) return;
    // If bytes are stored without a record, by this or another upload, the name stays reserved.
    const isStored = await store.stat(key).then(
      (stored) => stored !== undefined,
      () => true,
    );
    if (!isStored) await discardReserved(database, this.#blob);
  }
}
