import { cpSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "../../src/service/database/database.ts";
import { template } from "./template.testing.ts";

/** What decides how a new database looks. */
const SOURCES = [
  "src/service/database/pglite-cluster.ts",
  "src/service/database/schema.ts",
  "node_modules/@electric-sql/pglite/package.json",
];

let made: Promise<string> | undefined;

/**
 * Puts a new embedded database with empty tables into a data folder, as its first start would: PGlite takes about five
 * seconds of a processor to make one, so the tests make it once and copy it.
 */
export async function copyNewDatabase(dataDir: string): Promise<void> {
  made ??= template("database", SOURCES, async (staged) => {
    const database = await openDatabase({ databaseUrl: undefined, dataDir: staged });
    await database.close();
  });
  const folder = await made;
  await mkdir(dataDir, { mode: 0o700, recursive: true });
  cpSync(folder, join(dataDir, "database"), { recursive: true });
}
