import type { BlobStore } from "../../blob/store.ts";
import type { BlobContents } from "../../contract/api/blob-page.ts";
import type { Database } from "../database/database.ts";
import { type Quota, quotaExceeded } from "../store/blob-quota.ts";
import { type BlobRecord, recordUpload, type Usage } from "../store/blob-records.ts";
import type { BlobUpload } from "./blobs.ts";
import { beingRemoved } from "./stored-removals.ts";

interface UploadParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly key: string;
  readonly quota: Quota;
  /** The caller's usage when the upload began. */
  readonly used: Usage;
}

/** An upload: first its bytes, then its record. */
export class StoredUpload implements BlobUpload {
  readonly store: BlobStore;
  readonly key: string;
  readonly #parts: UploadParts;
  readonly #blob: Omit<BlobRecord, "bytes">;

  constructor(parts: UploadParts, blob: Omit<BlobRecord, "bytes">) {
    this.store = parts.store;
    this.key = parts.key;
    this.#parts = parts;
    this.#blob = blob;
  }

  checkRoom(bytes: number, newBlobs = 0): void {
    const { used, quota } = this.#parts;
    const hasTooMany = newBlobs > 0 && used.blobs + newBlobs > quota.blobs;
    if (hasTooMany || used.bytes + bytes > quota.bytes) throw quotaExceeded(used, quota, newBlobs);
  }

  async finish(bytes: number, contents?: BlobContents): Promise<void> {
    const { database, store, key } = this.#parts;
    for (let recorded = bytes; ; ) {
      // Another upload of the name has unknown contents.
      const known = recorded === bytes ? contents : undefined;
      if (!(await recordUpload(database, { ...this.#blob, bytes: recorded, contents: known })))
        throw beingRemoved(this.#blob.name);
      // A removal may have taken the bytes before they were recorded, and another upload of the name may have replaced them.
      const stored = await store.stat(key);
      if (stored === undefined) throw beingRemoved(this.#blob.name);
      if (stored.size === recorded) return;
      recorded = stored.size;
    }
  }
}
