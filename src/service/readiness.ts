import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors.ts";
import type { Database } from "./database/database.ts";
import type { ReadyCheck } from "./http/http-options.ts";

/** A key that no blob has. */
const ABSENT = "status/readiness.0.json";

/** Whether the service can do its work now: each part is asked anew. */
export async function readiness(parts: {
  readonly database: Database;
  readonly store: BlobStore;
  readonly draining: () => boolean;
}): Promise<readonly ReadyCheck[]> {
  const { database, store, draining } = parts;
  return [
    await check("database", () => database.query("select 1")),
    await check("storage", () => store.stat(ABSENT)),
    { name: "draining", ok: !draining(), ...(draining() ? { message: "the service is about to end" } : {}) },
  ];
}

/**
 * Does it once at a time: who asks meanwhile gets the same answer, so that probes, which anyone may send, do not pile up
 * on the storage.
 */
export function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined;
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

async function check(name: string, ask: () => Promise<unknown>): Promise<ReadyCheck> {
  try {
    await ask();
    return { name, ok: true };
  } catch (error) {
    return { name, ok: false, message: error instanceof MucastError ? error.message : "it does not answer" };
  }
}
