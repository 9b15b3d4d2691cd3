import { join } from "node:path";
import type { Database } from "./database.ts";
import type { EmbeddedOptions } from "./pglite.ts";
import { migrate } from "./schema.ts";

/**
 * Opens the database of the settings and brings its tables up to date.
 * @param options `dataDir`: absolute; for PGlite the caller holds its lock.
 */
export async function openDatabase(
  options: EmbeddedOptions & {
    readonly databaseUrl: string | undefined;
    /** Most connections to PostgreSQL; 10 by default. */
    readonly connections?: number;
    readonly dataDir: string;
  },
): Promise<Database> {
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
  ...embedded
}: Parameters<typeof openDatabase>[0]): Promise<Database> {
  if (databaseUrl !== undefined) {
    const { openPostgres } = await import("./postgres.ts");
    return openPostgres(databaseUrl, { connections });
  }
  const { openPglite } = await import("./pglite.ts");
  return openPglite(join(dataDir, "database"), embedded);
}
