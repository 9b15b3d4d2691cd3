import type { BlobStore } from "../blob/store.ts";
import type { Database } from "./database/database.ts";
import { type BlobRecord, forgetBlob, measureBlob, unmeasuredBlobs } from "./store/blob-records.ts";
import { brokenUploads, settleUpload } from "./store/blob-uploads.ts";
import { claimRemoval } from "./store/remove-blob.ts";
import type { Log } from "./telemetry/log.ts";

const PAUSE_MILLISECONDS = 30_000;

export interface UpkeepParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly log: Log;
  /** Ids of the uploads that go on here. */
  readonly ours: () => readonly string[];
}

/**
 * Brings records of blobs and the storage together, at once and then every half minute: uploads and removals that
 * broke off with their service, and blobs recorded without their size.
 * @param alone no other service can be on the database. @returns what ends it.
 */
export function startUpkeep(parts: UpkeepParts, alone: boolean): () => Promise<void> {
  const stop = new AbortController();
  let going = Promise.resolve();
  const go = () => {
    going = going
      .then(() => keepUp(parts, alone, stop.signal))
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

/** All of it, once. What fails is tried again the next time, and keeps nothing else from being done. */
export async function keepUp(parts: UpkeepParts, alone: boolean, signal: AbortSignal): Promise<void> {
  const { database, store, ours } = parts;
  const bytesOf = async ({ space, name }: Pick<BlobRecord, "space" | "name">) =>
    (await store.within(space).stat(`data/${name}`))?.size;
  await eachOf(
    parts,
    () => brokenUploads(database, alone, ours()),
    async (upload) => settleUpload(database, upload, await bytesOf(upload)),
    signal,
  );
  await eachOf(
    parts,
    // One at a time: one that waits for its turn is not being removed.
    async () => [(await claimRemoval(database)) ?? []].flat(),
    async ({ caller, name, space }) => {
      await store.within(space).remove(`data/${name}`);
      await database.transaction((statements) => forgetBlob(statements, caller, name));
    },
    signal,
  );
  await eachOf(
    parts,
    () => unmeasuredBlobs(database),
    async (blob) => {
      const bytes = (await bytesOf(blob)) ?? 0;
      await database.transaction((statements) => measureBlob(statements, blob, bytes));
    },
    signal,
  );
}

/** Until all that is left has failed. */
async function eachOf<T extends { readonly caller: string; readonly name: string }>(
  { log }: UpkeepParts,
  some: () => Promise<readonly T[]>,
  act: (one: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failed = new Set<string>();
  const keyOf = ({ caller, name }: T) => JSON.stringify([caller, name]);
  for (;;) {
    const left = (await some()).filter((one) => !failed.has(keyOf(one)));
    if (left.length === 0) return;
    for (const one of left) {
      if (signal.aborted) return;
      await act(one).catch((error: unknown) => {
        failed.add(keyOf(one));
        log.warn({ err: error, name: one.name }, "the record of a blob could not be kept up yet");
      });
    }
  }
}
