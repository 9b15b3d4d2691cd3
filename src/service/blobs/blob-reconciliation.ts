import type { BlobStore } from "../../blob/store.ts";
import type { Database } from "../database/database.ts";
import { RowSweep, repeatSweep } from "../row-sweep.ts";
import {
  type BlobRecord,
  measureBlob,
  type RecordKey,
  type StorageKey,
  unmeasuredBlobs,
} from "../store/blob-records.ts";
import { claimRemoval } from "../store/blob-removals.ts";
import { brokenUploads, settleUpload, type UploadRow } from "../store/blob-uploads.ts";
import type { Log } from "../telemetry/log.ts";
import { removeMarked } from "./stored-removals.ts";
import { recordStoredSize } from "./stored-upload.ts";

const PAUSE_MILLISECONDS = 30_000;

interface ReconciliationParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly log: Log;
  /** The work on blobs that this service does now. */
  readonly ongoing: () => OngoingBlobWork;
}

/** Uploads and removals that this service does now. */
export interface OngoingBlobWork {
  /** Ids of rows. */
  readonly uploads: readonly string[];
  readonly removals: readonly RecordKey[];
}

/**
 * Reconciles the records of blobs with the storage, at once and then every half minute: settles interrupted uploads, finishes
 * interrupted removals, and measures blobs that were recorded without a size.
 * @param alone no other service uses the database. @returns a function that stops it.
 */
export function startReconciliation(parts: ReconciliationParts, alone: boolean): () => Promise<void> {
  return repeatSweep(blobReconciliation(parts, alone), PAUSE_MILLISECONDS, (error) =>
    parts.log.warn({ err: error }, "records of blobs could not be updated; the service will try again"),
  );
}

/** @returns a function that reconciles all records once. A record that fails is retried the next time and does not delay others. */
export function blobReconciliation(
  parts: ReconciliationParts,
  alone: boolean,
): (signal: AbortSignal) => Promise<void> {
  const { database, store, log, ongoing } = parts;
  const logged = {
    log,
    fields: ({ name }: RecordKey) => ({ name }),
    failure: "the record of a blob could not be kept up yet",
  };
  const partsOf = ({ space, name }: StorageKey) => ({
    database,
    store: store.within(space),
    key: `data/${name}`,
  });
  const bytesOf = async (blob: StorageKey) => {
    const { store: own, key } = partsOf(blob);
    return (await own.stat(key))?.size;
  };
  const uploads = new RowSweep<UploadRow>({
    next: (after) => brokenUploads(database, alone, ongoing().uploads, after),
    act: async (upload) => {
      const bytes = await bytesOf(upload);
      await settleUpload(database, upload, bytes);
      if (bytes !== undefined) await recordStoredSize(partsOf(upload), upload, bytes);
    },
    ...logged,
  });
  const removals = new RowSweep<BlobRecord>({
    // One at a time: a claimed removal must start at once.
    next: async (after) => [(await claimRemoval(database, alone, ongoing().removals, after)) ?? []].flat(),
    act: (blob) => removeMarked({ database, store }, blob),
    ...logged,
  });
  const sizes = new RowSweep<BlobRecord>({
    next: (after) => unmeasuredBlobs(database, after),
    act: async (blob) => {
      const bytes = (await bytesOf(blob)) ?? 0;
      await database.transaction((statements) => measureBlob(statements, blob, bytes));
    },
    ...logged,
  });
  return async (signal) => {
    for (const sweep of [uploads, removals, sizes]) await sweep.run(signal);
  };
}
