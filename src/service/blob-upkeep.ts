import type { BlobStore } from "../blob/store.ts";
import type { Database } from "./database/database.ts";
import {
  type BlobRecord,
  forgetBlob,
  measureBlob,
  unmeasuredBlobs,
  unremovedBlobs,
} from "./store/blob-records.ts";
import { brokenUploads, settleUpload } from "./store/blob-uploads.ts";
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

/** All of it, once. */
export async function keepUp(parts: UpkeepParts, alone: boolean, signal: AbortSignal): Promise<void> {
  const { database, store } = parts;
  const bytesOf = async ({ space, name }: Pick<BlobRecord, "space" | "name">) =>
    (await store.within(space).stat(`data/${name}`))?.size;
  await eachOf(
    () => brokenUploads(database, alone, parts.ours()),
    async (upload) => settleUpload(database, upload, await bytesOf(upload)),
    signal,
  );
  await eachOf(
    () => unremovedBlobs(database),
    async ({ caller, name, space }) => {
      await store.within(space).remove(`data/${name}`);
      await database.transaction((statements) => forgetBlob(statements, caller, name));
    },
    signal,
  );
  await eachOf(
    () => unmeasuredBlobs(database),
    async (blob) => {
      const bytes = (await bytesOf(blob)) ?? 0;
      await database.transaction((statements) => measureBlob(statements, blob, bytes));
    },
    signal,
  );
}

/** Until there is none left; what is done is no longer among them. */
async function eachOf<T>(
  some: () => Promise<readonly T[]>,
  act: (one: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const found = await some();
    if (found.length === 0) return;
    for (const one of found) {
      if (signal.aborted) return;
      await act(one);
    }
  }
}
