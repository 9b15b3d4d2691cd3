import { join } from "node:path";
import { migrate } from "./schema.ts";

/** Runs one statement. Parameters are `$1`, `$2`, …; `timestamptz` comes back as Date, `json` parsed. */
export interface Queryable {
  query<T = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<{ rows: T[] }>;
}

/** `unhurried`: its statements may take an hour each, as those may that change tables. */
export type Haste = "usual" | "unhurried";

/**
 * Where operations are kept: the embedded PGlite or a PostgreSQL server, the same SQL on both. Its tables lie in the
 * schema `mucast`, which stands first in the search path.
 *
 * Every method throws MucastError unavailable where the database cannot be reached; that may pass.
 */
export interface Database extends Queryable {
  readonly kind: "pglite" | "postgres";
  /** Runs several statements, parted by semicolons, without parameters. */
  exec(text: string): Promise<void>;
  /**
   * Commits what `body` does, or rolls it back where it throws. On PGlite everything else waits meanwhile, so that a
   * `body` which asks the database for anything but through its `statements` would wait for itself.
   */
  transaction<T>(body: (statements: Queryable) => Promise<T>, haste?: Haste): Promise<T>;
  /**
   * Calls `told` with the payload of every notification on a channel, from any service on this database, and
   * `missed` after a time in which some may have been missed.
   * @returns what ends it.
   */
  listen(channel: string, told: (payload: string) => void, missed: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/**
 * Opens the database of the settings and brings its tables up to date.
 * @param place `dataDir`: absolute; for PGlite the caller holds its lock.
 */
export async function openDatabase(place: {
  readonly databaseUrl: string | undefined;
  /** To PostgreSQL; 10 by default. */
  readonly connections?: number;
  readonly dataDir: string;
}): Promise<Database> {
  const database = await open(place);
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
}: Parameters<typeof openDatabase>[0]): Promise<Database> {
  if (databaseUrl !== undefined) {
    const { openPostgres } = await import("./postgres.ts");
    return openPostgres(databaseUrl, { connections });
  }
  const { openPglite } = await import("./pglite.ts");
  return openPglite(join(dataDir, "database"));
}
