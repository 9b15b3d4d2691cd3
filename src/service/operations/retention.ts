import type { BlobStore } from "../../blob/store.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import type { Database } from "../database/database.ts";
import { logFirst, repeatSweep, sweepRows } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";

const HOUR = 3_600_000;
const BATCH = 50;

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

/**
 * Removes operations that ended more than `days` ago, oldest first, with their events, deliveries and idempotency keys. Their outputs have
 * separate records and stay. If the status blobs of an operation cannot be removed, it stays for the next time.
 */
export async function removeOldOperations(
  { database, store, days, log }: RetentionParts,
  signal: AbortSignal,
): Promise<void> {
  const old = database.db
    .selectFrom("operations")
    .select(["id", "attempt", "space", "finished_at"])
    .where("finished_at", "<", database.time(-days * 86_400))
    .$narrowType<{ finished_at: Date }>()
    .orderBy("finished_at")
    .orderBy("id")
    .limit(BATCH);
  const warn = logFirst(log, "an old operation could not be removed yet");
  const operations = await sweepRows<Awaited<ReturnType<typeof old.execute>>[number]>({
    next: (after) =>
      after === undefined
        ? old.execute()
        : old
            .where(({ eb, refTuple, tuple }) =>
              eb(refTuple("finished_at", "id"), ">", tuple(after.finished_at, after.id)),
            )
            .execute(),
    act: async ({ id, attempt, space }) => {
      // Before the row: without it, nothing names the status blobs, of which each attempt may have written one.
      for (let nth = 1; nth <= attempt; nth++) await store.within(space).remove(statusKey(id, nth));
      await database.write((db) => db.deleteFrom("operations").where("id", "=", id).execute());
    },
    onFailure: ({ id }, error) => warn({ err: error, operation_id: id }),
    signal,
  });
  if (operations > 0) log.info({ operations }, "removed old operations");
}
