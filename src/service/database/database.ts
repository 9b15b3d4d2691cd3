import { join } from "node:path";
import type { FolderLock } from "./pglite.ts";
import type { Dump } from "./pglite-dump.ts";
import { migrate } from "./schema.ts";

/** Runs one statement. Parameters are `$1`, `$2`, …; `timestamptz` comes back as Date, `json` parsed. */
export interface Queryable {
  query<T = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<{ rows: T[] }>;
}

/** The time limit of a statement in a transaction: `long` is an hour, for changes of tables. */
export type StatementTime = "usual" | "long";

/**
 * The database of operations: the embedded PGlite or a PostgreSQL server, with the same SQL. Its tables are in the schema `mucast`,
 * which is first in the search path.
 *
 * Every method throws MucastError unavailable if the database is unreachable; a later call may succeed.
 */
export interface Database extends Queryable {
  readonly kind: "pglite" | "postgres";
  /** Runs several statements, separated by semicolons, without parameters. */
  exec(text: string): Promise<void>;
  /**
   * Runs `body` in a transaction, which commits, or rolls back if `body` throws. On PGlite all other statements wait meanwhile, so a
   * `body` that uses the database other than through its `statements` waits forever.
   */
  transaction<T>(body: (statements: Queryable) => Promise<T>, time?: StatementTime): Promise<T>;
  /**
   * Calls `onNotification` with the payload of every notification on a channel, from any service on this database. Calls
   * `onMissed` after a lost connection, during which notifications may have been missed.
   * @returns a function that stops listening.
   */
  listen(
    channel: string,
    onNotification: (payload: string) => void,
    onMissed: () => void,
  ): Promise<() => Promise<void>>;
  /** Reads all tables of a PGlite. For PostgreSQL, use its own tools. */
  dump?(): Promise<Dump>;
  close(): Promise<void>;
}

/**
 * Opens the database of the settings and brings its tables up to date.
 * @param options `dataDir`: absolute; for PGlite the caller holds its lock.
 */
export async function openDatabase(options: {
  /** The lock of the data folder, for PGlite. */
  readonly lock?: FolderLock | undefined;
  readonly databaseUrl: string | undefined;
  /** Maximum number of connections to PostgreSQL; 10 by default. */
  readonly connections?: number;
  readonly dataDir: string;
}): Promise<Database> {
  const database = await open(options);
  try {
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function open({
  databaseUrl,
  connections = 10,
  dataDir,
  lock,
}: Parameters<typeof openDatabase>[0]): Promise<Database> {
  if (databaseUrl !== undefined) {
    const { openPostgres } = await import("./postgres.ts");
    return openPostgres(databaseUrl, { connections });
  }
  const { openPglite } = await import("./pglite.ts");
  return openPglite(join(dataDir, "database"), lock);
}
