import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import { logFirst, repeatSweep, sweepRows } from "../row-sweep.ts";
import {
  claimRemoval,
  interruptedRemovals,
  markInterrupted,
  markRemoved,
  type RemovedBlob,
  removeRecord,
} from "../store/blobs.ts";
import type { Log } from "../telemetry/log.ts";
import { storageFailed } from "./blobs.ts";

interface RemovalParts {
  readonly database: Database;
  readonly store: BlobStore;
}

const RETRY_SECONDS = 1;
const HOUR_MILLISECONDS = 3_600_000;

/**
 * Removes a blob: hides it from its caller, then removes its bytes, then its record.
 * @param isRecorded whether the blob has a record.
 * @returns false if another removal is doing it or has done it. @throws MucastError blob_in_use, storage_failed.
 */
export async function removeStored(
  parts: RemovalParts,
  blob: RemovedBlob,
  isRecorded: boolean,
): Promise<boolean> {
  if (!(await markRemoved(parts.database, blob, isRecorded))) return false;
  await removeMarked(parts, blob);
  return true;
}

/**
 * Finishes an interrupted removal, after which the name is free.
 * @throws MucastError unavailable if a service is doing it; storage_failed.
 */
export async function finishRemoval(parts: RemovalParts, blob: RemovedBlob): Promise<void> {
  if (!(await claimRemoval(parts.database, blob))) throw beingRemoved(blob.name);
  await removeMarked(parts, blob);
}

async function removeMarked(
  { database, store }: RemovalParts,
  { caller, name, space }: RemovedBlob,
): Promise<void> {
  await store
    .within(space)
    .remove(`data/${name}`)
    .catch(async (error: unknown) => {
      // If the database is unreachable too, the removal counts as interrupted later.
      await markInterrupted(database, { caller, name }).catch(() => undefined);
      throw storageFailed(error, `${name} could not be removed`);
    });
  await database.write((db) => removeRecord(db, { caller, name }, "removing"));
}

/** The error of an upload during a removal. */
export function beingRemoved(name: string): MucastError {
  return new MucastError("unavailable", `${name} is being removed`, { retryAfter: RETRY_SECONDS });
}

/** Finishes interrupted removals, at once and then every hour. @returns a function that stops it. */
export function keepFinishingRemovals(parts: RemovalParts & { readonly log: Log }): () => Promise<void> {
  return repeatSweep(removalSweep(parts), HOUR_MILLISECONDS, (error) =>
    parts.log.warn({ err: error }, "interrupted removals could not be read; the service will try again"),
  );
}

/** @returns a function that finishes all interrupted removals once. One that fails does not delay others. */
export function removalSweep(
  parts: RemovalParts & { readonly log: Log },
): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const warn = logFirst(parts.log, "a blob could not be removed yet");
    await sweepRows<RemovedBlob>({
      next: (after) => interruptedRemovals(parts.database, after),
      act: async (blob) => {
        if (await claimRemoval(parts.database, blob)) await removeMarked(parts, blob);
      },
      onFailure: ({ name }, error) => warn({ err: error, name }),
      signal,
    });
  };
}
