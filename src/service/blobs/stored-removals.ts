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
  /** Waits for so many milliseconds. */
  readonly pause?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

/** Between two looks at a removal that goes on elsewhere; each time twice as long, up to the longest. */
const PAUSE_MILLISECONDS = { first: 10, longest: 320 };
/** In all about ten seconds. */
const LOOKS_AT_MOST = 36;
const RETRY_SECONDS = 1;

/** Removals of blobs that are asked for here. */
export class StoredRemovals {
  readonly #parts: RemovalParts;
  readonly #ongoing = new Set<RecordKey>();

  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  /** Those that go on here. */
  get ongoing(): readonly RecordKey[] {
    return [...this.#ongoing];
  }

  /**
   * Removes a blob, and gives back its room. Of several at the same time one removes it, and the others wait for that one.
   * @returns false where another one has removed it. @throws MucastError blob_in_use, storage_failed; unavailable where another
   *   one goes on for too long.
   */
  async remove(caller: string, place: StorageKey, recorded: boolean): Promise<boolean> {
    const blob = { caller, name: place.name, space: place.space };
    for (let left = false; ; left = true) {
      const marked = await this.#tryOnce(blob, { recorded, left });
      if (marked !== "goes on") return marked === "marked";
      if ((await this.settled(blob)) === "over") return false;
    }
  }

  /**
   * Waits for a removal that goes on, here or in another service.
   * @returns `left` where it was refused or broke off. @throws MucastError unavailable where it goes on for too long.
   */
  async settled({ caller, name }: RecordKey): Promise<"over" | "left"> {
    const { database, pause = pauseFor } = this.#parts;
    const { first, longest } = PAUSE_MILLISECONDS;
    for (let looks = 0; looks < LOOKS_AT_MOST; looks++) {
      const state = await removalState(database, { caller, name });
      if (state === "left") return "left";
      if (state !== "goes on") return "over";
      await pause(Math.min(first * 2 ** looks, longest));
    }
    throw beingRemoved(name);
  }

  async #tryOnce(blob: Omit<BlobRecord, "bytes">, meant: RemovalTarget): Promise<MarkOutcome> {
    const { database } = this.#parts;
    // Before it is marked: a mark that is not ours could be taken for that of a removal that broke off.
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

/** Removes what is out of its caller's sight, from the storage and then its record. @throws MucastError storage_failed. */
export async function removeMarked(
  { database, store }: RemovalParts,
  { caller, name, space }: Omit<BlobRecord, "bytes">,
): Promise<void> {
  await store
    .within(space)
    .remove(`data/${name}`)
    .catch(async (error: unknown) => {
      // Where the database is away too, the upkeep takes it on later.
      await markRemovalBroken(database, { caller, name }).catch(() => undefined);
      throw storageFailed(error, `${name} could not be removed`);
    });
  await database.transaction((statements) => removeRecord(statements, caller, name));
}

/** The answer to what a removal gets in the way of. */
export function beingRemoved(name: string): MucastError {
  return new MucastError("unavailable", `${name} is being removed`, { retryAfter: RETRY_SECONDS });
}
