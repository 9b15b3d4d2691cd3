import type { DumpRows } from "./pglite-dump.ts";

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
  dump?(...args: Parameters<DumpRows>): ReturnType<DumpRows>;
  close(): Promise<void>;
}
