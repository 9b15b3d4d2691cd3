import type { BlobStore } from "../blob/store.ts";
import { statusKey } from "../contract/status-blob.ts";
import type { Database } from "./database/database.ts";
import { type Expired, expiredOperations, removeOperations } from "./store/retention.ts";
import type { Log } from "./telemetry/log.ts";

const HOUR = 3_600_000;

/** Removes operations that ended long ago, at once and then every hour. @returns what ends it. */
export function keepRetention(parts: {
  readonly database: Database;
  readonly store: BlobStore;
  readonly days: number;
  readonly log: Log;
}): () => Promise<void> {
  const stop = new AbortController();
  let removing = Promise.resolve();
  const remove = () => {
    removing = removing
      .then(() => removeAll(parts, stop.signal))
      .catch((error: unknown) => parts.log.warn({ err: error }, "old operations could not be removed yet"));
  };
  const timer = setInterval(remove, HOUR);
  remove();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await removing;
  };
}

/** Operations whose status blobs could not be removed, after which the rest waits for the next round. */
const FAILURES_AT_MOST = 50;

/** All of them, once. What the storage keeps of one is tried again in the next round, and keeps no other from being removed. */
export async function removeAll(
  { database, store, days, log }: Parameters<typeof keepRetention>[0],
  signal: AbortSignal,
): Promise<void> {
  const failed: string[] = [];
  while (!signal.aborted && failed.length < FAILURES_AT_MOST) {
    const expired = await expiredOperations(database, days, failed);
    if (expired.length === 0) return;
    const removed: string[] = [];
    for (const operation of expired) {
      try {
        // Before the row, which alone knows of them.
        await removeStatusBlobs(store, operation);
        removed.push(operation.id);
      } catch (error) {
        failed.push(operation.id);
        log.warn({ err: error, operation_id: operation.id }, "an old operation could not be removed yet");
      }
    }
    await removeOperations(database, removed);
    log.info({ operations: removed.length }, "removed operations that ended long ago");
  }
}

async function removeStatusBlobs(store: BlobStore, { id, attempt, space }: Expired): Promise<void> {
  const own = store.within(space);
  for (let made = 1; made <= attempt; made++) await own.remove(statusKey(id, made));
}
