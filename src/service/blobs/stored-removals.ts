import { setTimeout as pauseFor } from "node:timers/promises";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import { type BlobRecord, type RecordKey, removeRecord, type StorageKey } from "../store/blob-records.ts";
import {
  type MarkOutcome,
  markRemovalBroken,
  markRemoved,
  type RemovalTarget,
  removalState,
} from "../store/blob-removals.ts";
import { storageFailed } from "./blobs.ts";

export interface RemovalParts {
  readonly database: Database;
  readonly store: BlobStore;
  /** Waits for this many milliseconds; a timer by default. */
  readonly pause?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

/** The pause between two reads of the state of a removal elsewhere, which doubles each time. */
const PAUSE_MILLISECONDS = { first: 10, longest: 320 };
/** About ten seconds in total. */
const MAX_READS = 36;
const RETRY_SECONDS = 1;

/** The removals that callers of this service request. */
export class StoredRemovals {
  readonly #parts: RemovalParts;
  readonly #ongoing = new Set<RecordKey>();

  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  /** The removals that this service is doing. */
  get ongoing(): readonly RecordKey[] {
    return [...this.#ongoing];
  }

  /**
   * Removes a blob and releases its space. If removals run concurrently, one does the work and the others wait for it.
   * @returns false if another removal has removed it. @throws MucastError blob_in_use, storage_failed; unavailable if another removal
   * takes too long.
   */
  async remove(
    caller: string,
    { name, space }: StorageKey,
    target: Omit<RemovalTarget, "left">,
  ): Promise<boolean> {
    const blob = { caller, name, space };
    for (let left = false; ; left = true) {
      const marked = await this.#tryOnce(blob, { ...target, left });
      if (marked !== "goes on") return marked === "marked";
      if ((await this.settled(blob)) === "over") return false;
    }
  }

  /**
   * Waits for the end of a removal, in this service or another one.
   * @returns `left` if it failed or was interrupted. @throws MucastError unavailable if it takes too long.
   */
  async settled({ caller, name }: RecordKey): Promise<"over" | "left"> {
    const { database, pause = pauseFor } = this.#parts;
    const { first, longest } = PAUSE_MILLISECONDS;
    for (let reads = 0; reads < MAX_READS; reads++) {
      const state = await removalState(database, { caller, name });
      if (state === "left") return "left";
      if (state !== "goes on") return "over";
      await pause(Math.min(first * 2 ** reads, longest));
    }
    throw beingRemoved(name);
  }

  async #tryOnce(blob: Omit<BlobRecord, "bytes">, meant: RemovalTarget): Promise<MarkOutcome> {
    const { database } = this.#parts;
    // Before the mark exists, so that the reconciliation does not take it for an interrupted removal.
    this.#ongoing.add(blob);
    try {
      const marked = await markRemoved(database, blob.caller, blob, meant);
      if (marked === "marked") await removeMarked(this.#parts, blob);
      return marked;
    } finally {
      this.#ongoing.delete(blob);
    }
  }
}

/** Removes a marked blob from the storage, and then its record. @throws MucastError storage_failed. */
export async function removeMarked(
  { database, store }: RemovalParts,
  { caller, name, space }: Omit<BlobRecord, "bytes">,
): Promise<void> {
  await store
    .within(space)
    .remove(`data/${name}`)
    .catch(async (error: unknown) => {
      // If the database is unreachable too, the reconciliation removes it later.
      await markRemovalBroken(database, { caller, name }).catch(() => undefined);
      throw storageFailed(error, `${name} could not be removed`);
    });
  await database.transaction((statements) => removeRecord(statements, caller, name));
}

/** The error of a request that waits for a removal. */
export function beingRemoved(name: string): MucastError {
  return new MucastError("unavailable", `${name} is being removed`, { retryAfter: RETRY_SECONDS });
}
