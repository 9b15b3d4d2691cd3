import type { BlobStore } from "../blob/store.ts";
import { statusKey } from "../contract/status-blob.ts";
import type { Database } from "./database/database.ts";
import { expiredOperations, removeOperations } from "./store/retention.ts";
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

async function removeAll(
  { database, store, days, log }: Parameters<typeof keepRetention>[0],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const expired = await expiredOperations(database, days);
    if (expired.length === 0) return;
    // Before the rows, which alone know of them.
    for (const { id, attempt, space } of expired) {
      const own = store.within(space);
      for (let made = 1; made <= attempt; made++) await own.remove(statusKey(id, made));
    }
    await removeOperations(
      database,
      expired.map(({ id }) => id),
    );
    log.info({ operations: expired.length }, "removed operations that ended long ago");
  }
}
