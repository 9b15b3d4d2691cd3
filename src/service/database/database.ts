import type { Insertable, RawBuilder, SqlBool } from "kysely";
import type { ServiceSettings } from "../settings/load-settings.ts";
import { type Migration, migrate } from "./schema.ts";
import type { Statements, Tables } from "./tables.ts";

export type EventRow = Insertable<Tables["events"]>;

/** The channel of the notifications of operations; the payload is `<event type>:<operation id>`. */
export const CHANNEL = "mucast_operations";

export interface Listener {
  onNotification(payload: string): void;
  onMissed(): void;
}

/** One SQLite file, or a PostgreSQL server. Every statement throws MucastError unavailable if the database cannot answer now. */
export interface Database {
  readonly kind: "sqlite" | "postgres";
  readonly db: Statements;
  /** In a transaction. `body` awaits nothing but its statements: with SQLite, every other writer waits meanwhile. */
  write<T>(body: (db: Statements) => Promise<T>): Promise<T>;
  /** Stores events, and notifies every service of each when the transaction commits. */
  insertEvents(db: Statements, events: readonly EventRow[]): Promise<void>;
  listen(listener: Listener): Promise<() => Promise<void>>;
  close(): Promise<void>;

  // What differs in the SQL of the two databases:
  time(seconds?: number): RawBuilder<Date>;
  /** Seconds since a time, 0 if it is in the future. */
  secondsSince(column: string): RawBuilder<number>;
  /** Ends a select that locks its rows of `table` for the transaction, or skips those that are locked. SQLite has one writer at a time. */
  lock(table: string, others: "wait" | "skip"): RawBuilder<unknown>;
  hasAll(column: string, values: readonly string[]): RawBuilder<SqlBool>;
  jsonBytes(column: string): RawBuilder<number>;
}

export type DatabaseSettings = Pick<ServiceSettings, "data_dir"> &
  Partial<Pick<ServiceSettings, "database_url" | "database_listen_url" | "database_connections">>;

export async function openDatabase(
  settings: DatabaseSettings,
  onMigrated: (migration: Migration) => void = () => undefined,
): Promise<Database> {
  const database = await openUnmigrated(settings);
  try {
    const migration = await migrate(database);
    if (migration.from < migration.to) onMigrated(migration);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

export async function openUnmigrated(settings: DatabaseSettings): Promise<Database> {
  const { database_url: url, database_listen_url: listenUrl, database_connections: connections } = settings;
  if (url === undefined) return (await import("./sqlite.ts")).openSqlite(settings.data_dir);
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(url, { listenUrl, connections });
}
