import type { BlobStore } from "../../blob/store.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import type { Database } from "../database/database.ts";
import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";

const HOUR = 3_600_000;

interface RetentionParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly days: number;
  readonly log: Log;
}

/** Removes operations that ended long ago, at once and then every hour. @returns a function that stops it. */
export function startRetention(parts: RetentionParts): () => Promise<void> {
  return repeatSweep(
    (signal) => removeOldOperations(parts, signal),
    HOUR,
    (error) =>
      parts.log.warn({ err: error }, "old operations could not be removed; the service will try again"),
  );
}

/** Oldest first, with their events, deliveries and idempotency keys. If the status blobs of one cannot be removed, it stays. */
export async function removeOldOperations(
  { database, store, days, log }: RetentionParts,
  signal: AbortSignal,
): Promise<void> {
  const old = await database.db
    .selectFrom("operations")
    .select(["id", "attempt", "space"])
    .where("finished_at", "<", database.time(-days * 86_400))
    .orderBy("finished_at")
    .execute();
  let [operations, failures] = [0, 0];
  for (const { id, attempt, space } of old) {
    if (signal.aborted) break;
    try {
      // Before the row: without it, nothing names the status blobs, of which each attempt may have written one.
      for (let nth = 1; nth <= attempt; nth++) await store.within(space).remove(statusKey(id, nth));
      await database.write((db) => db.deleteFrom("operations").where("id", "=", id).execute());
      operations += 1;
    } catch (error) {
      // If the storage is unreachable, all fail.
      if (failures++ === 0)
        log.warn({ err: error, operation_id: id }, "old operations could not be removed yet");
    }
  }
  if (operations > 0) log.info({ operations }, "removed old operations");
}
