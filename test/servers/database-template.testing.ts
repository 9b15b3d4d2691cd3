import { cpSync, linkSync, mkdirSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "../../src/service/database/open-database.ts";
import { template } from "./template.testing.ts";

/** What determines the contents of a new database. */
const SOURCES = [
  "src/service/database/pglite-cluster.ts",
  "src/service/database/schema.ts",
  "node_modules/@electric-sql/pglite/package.json",
];

let made: Promise<string> | undefined;

/**
 * Puts a new embedded database with empty tables into a data folder, as its first start would. PGlite needs about five processor seconds to
 * create one, so the tests create it once and copy it.
 */
export async function copyNewDatabase(dataDir: string): Promise<void> {
  made ??= template("database", SOURCES, async (staged) => {
    const database = await openDatabase({ databaseUrl: undefined, dataDir: staged });
    await database.close();
  });
  const folder = await made;
  await mkdir(dataDir, { mode: 0o700, recursive: true });
  copyDatabase(folder, join(dataDir, "database"));
}

/** template1 and template0 by their OIDs, 600 of a thousand files: no session opens them, so nothing writes to them. */
const UNOPENED = ["base/1", "base/4"];

/** Copies files that cannot be linked, as between two disks. */
function copyDatabase(from: string, to: string): void {
  const unopened = UNOPENED.map((name) => join(from, name));
  cpSync(from, to, { recursive: true, filter: (path) => !unopened.includes(path) });
  for (const name of UNOPENED) {
    try {
      linkFiles(join(from, name), join(to, name));
    } catch {
      cpSync(join(from, name), join(to, name), { recursive: true });
    }
  }
}

function linkFiles(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) linkSync(join(from, name), join(to, name));
}
