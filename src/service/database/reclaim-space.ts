import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";
import type { Database } from "./database.ts";

const INTERVAL_MILLISECONDS = 10_000;

/** Space is reclaimed once the write-ahead log has grown by this many bytes. A start after a kill reads at most that, and what 10 s add. */
export const MAX_LOG_BYTES = 64 * 2 ** 20;

/**
 * Keeps the files of an embedded database small. PostgreSQL leaves that to its checkpointer and to autovacuum, and PGlite runs
 * neither: without this, its write-ahead log and the dead rows of its tables grow until the service stops, and it sorts all blobs of a
 * caller to list the newest, because it does not know that there are many.
 * @returns a function that stops it. The database is closed after.
 */
export function keepReclaimingSpace(database: Database, log: Log): () => Promise<void> {
  const onError = (error: unknown) => {
    log.warn({ err: error }, "the database could not reclaim space");
  };
  return repeatSweep((signal) => reclaimSpace(database, signal), INTERVAL_MILLISECONDS, onError);
}

/**
 * Vacuums and analyzes every table and makes a checkpoint where MAX_LOG_BYTES have been written since the last one. Each is a statement of its own,
 * so others run between them.
 */
export async function reclaimSpace(database: Database, signal: AbortSignal): Promise<void> {
  const { rows } = await database.query<{ bytes: number }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()",
  );
  if (rows[0]!.bytes < MAX_LOG_BYTES) return;
  const tables = await database.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'mucast' order by tablename",
  );
  for (const { name } of tables.rows) {
    if (signal.aborted) return;
    await database.exec(`vacuum (analyze) mucast.${name}`);
  }
  await database.exec("checkpoint");
}
