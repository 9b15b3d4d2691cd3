import type { BlobStore } from "../../blob/store.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import type { Database } from "../database/database.ts";
import { logFirst, repeatSweep, sweepRows } from "../row-sweep.ts";
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
  return repeatSweep(retentionSweep(parts), HOUR, (error) =>
    parts.log.warn({ err: error }, "old operations could not be removed; the service will try again"),
  );
}

/**
 * @returns a function that removes all of them once. If the status blobs of an operation cannot be removed, it stays for the next
 * time.
 */
export function retentionSweep({
  database,
  store,
  days,
  log,
}: RetentionParts): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const warn = logFirst(log, "an old operation could not be removed yet");
    const operations = await sweepRows<ExpiredRow>({
      next: (after) => expiredOperations(database, days, after),
      act: async (operation) => {
        // Before the row: without it, nothing names the status blobs.
        await removeStatusBlobs(store, operation);
        await removeOperation(database, operation.id);
      },
      onFailure: ({ id }, error) => warn({ err: error, operation_id: id }),
      signal,
    });
    if (operations > 0) log.info({ operations }, "removed old operations");
  };
}

async function removeStatusBlobs(store: BlobStore, { id, attempt, space }: Expired): Promise<void> {
  const own = store.within(space);
  for (let made = 1; made <= attempt; made++) await own.remove(statusKey(id, made));
}

/** An operation that ended long ago. */
interface Expired {
  readonly id: string;
  /** The space of its status blobs. */
  readonly space: string;
  /** The number of attempts, each of which may have written a status blob. */
  readonly attempt: number;
}

const BATCH = 50;

/** The next operations that ended more than `days` ago, oldest first. @param after undefined for the first batch. */
function expiredOperations(
  database: Database,
  days: number,
  after: ExpiredRow | undefined,
): Promise<ExpiredRow[]> {
  const query = database.db
    .selectFrom("operations")
    .select(["id", "attempt", "space", "finished_at"])
    .where("finished_at", "<", database.time(-days * 86_400))
    .$narrowType<{ finished_at: Date }>()
    .orderBy("finished_at")
    .orderBy("id")
    .limit(BATCH);
  if (after === undefined) return query.execute();
  return query
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple("finished_at", "id"), ">", tuple(after.finished_at, after.id)),
    )
    .execute();
}

type ExpiredRow = Expired & { readonly finished_at: Date };

/**
 * Removes an operation with its events, deliveries and idempotency key. Its output stays with its caller, since the output has a
 * separate record. Has no effect if another service has removed the operation.
 */
function removeOperation(database: Database, id: string): Promise<unknown> {
  return database.write((db) => db.deleteFrom("operations").where("id", "=", id).execute());
}
