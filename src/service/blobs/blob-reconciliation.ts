import type { BlobStore } from "../../blob/store.ts";
import type { Database } from "../database/database.ts";
import { RowSweep } from "../row-sweep.ts";
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

const PAUSE_MILLISECONDS = 30_000;

export interface ReconciliationParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly log: Log;
  /** What goes on here. */
  readonly ours: () => OngoingBlobWork;
}

/** What goes on with blobs in this process. */
export interface OngoingBlobWork {
  /** Ids. */
  readonly uploads: readonly string[];
  readonly removals: readonly RecordKey[];
}

/**
 * Brings records of blobs and the storage together, at once and then every half minute: uploads and removals that
 * broke off with their service, and blobs recorded without their size.
 * @param alone no other service can be on the database. @returns what ends it.
 */
export function startReconciliation(parts: ReconciliationParts, alone: boolean): () => Promise<void> {
  const stop = new AbortController();
  const round = blobReconciliation(parts, alone);
  let going = Promise.resolve();
  const go = () => {
    going = going
      .then(() => round(stop.signal))
      .catch((error: unknown) => parts.log.warn({ err: error }, "records of blobs could not be kept up yet"));
  };
  const timer = setInterval(go, PAUSE_MILLISECONDS);
  go();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await going;
  };
}

/** @returns what does all of it, once. What fails is tried again the next time, and keeps nothing else from being done. */
export function blobReconciliation(
  parts: ReconciliationParts,
  alone: boolean,
): (signal: AbortSignal) => Promise<void> {
  const { database, store, log, ours } = parts;
  const told = {
    log,
    shown: ({ name }: RecordKey) => ({ name }),
    failure: "the record of a blob could not be kept up yet",
  };
  const bytesOf = async ({ space, name }: StorageKey) =>
    (await store.within(space).stat(`data/${name}`))?.size;
  const uploads = new RowSweep<UploadRow>({
    next: (after) => brokenUploads(database, alone, ours().uploads, after),
    act: async (upload) => settleUpload(database, upload, await bytesOf(upload)),
    ...told,
  });
  const removals = new RowSweep<BlobRecord>({
    // One at a time: one that waits for its turn is not being removed.
    next: async (after) => [(await claimRemoval(database, alone, ours().removals, after)) ?? []].flat(),
    act: (blob) => removeMarked({ database, store }, blob),
    ...told,
  });
  const sizes = new RowSweep<BlobRecord>({
    next: (after) => unmeasuredBlobs(database, after),
    act: async (blob) => {
      const bytes = (await bytesOf(blob)) ?? 0;
      await database.transaction((statements) => measureBlob(statements, blob, bytes));
    },
    ...told,
  });
  return async (signal) => {
    for (const rounds of [uploads, removals, sizes]) await rounds.go(signal);
  };
}
