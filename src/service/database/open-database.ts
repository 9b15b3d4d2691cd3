import { join } from "node:path";
import type { Database } from "./database.ts";
import type { EmbeddedOptions } from "./pglite.ts";
import { MIGRATIONS, migrate } from "./schema.ts";

type DatabaseOptions = EmbeddedOptions & {
  readonly databaseUrl: string | undefined;
  /** Most connections to PostgreSQL; 10 by default. */
  readonly connections?: number;
  /** Absolute; for PGlite the caller holds its lock. */
  readonly dataDir: string;
};

/** A change of the tables. */
export interface Migration {
  /** The version before; 0 for a new database. */
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
}

/**
 * Opens the database of the settings and brings its tables up to date.
 * @param onMigrated called if the tables had another version.
 */
export async function openDatabase(
  options: DatabaseOptions,
  onMigrated: (migration: Migration) => void = () => undefined,
): Promise<Database> {
  const database = await openUnmigrated(options);
  try {
    const began = performance.now();
    const from = await migrate(database);
    const seconds = Number(((performance.now() - began) / 1_000).toFixed(1));
    const to = MIGRATIONS.length;
    if (from < to) onMigrated({ from, to, seconds });
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens the database of the settings with the tables that it has. */
export async function openUnmigrated({
  databaseUrl,
  connections = 10,
  dataDir,
  ...embedded
}: DatabaseOptions): Promise<Database> {
  if (databaseUrl !== undefined) {
    const { openPostgres } = await import("./postgres.ts");
    return openPostgres(databaseUrl, { connections });
  }
  const { openPglite } = await import("./pglite.ts");
  return openPglite(join(dataDir, "database"), embedded);
}
