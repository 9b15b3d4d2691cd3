import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../src/service/database/database.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/mucast");
/** What decides how a new database looks. */
const SOURCES = [
  "src/service/database/pglite-cluster.ts",
  "src/service/database/schema.ts",
  "node_modules/@electric-sql/pglite/package.json",
];

const WEEK_MILLISECONDS = 7 * 24 * 3_600_000;

let made: Promise<string> | undefined;

/**
 * Puts a new embedded database with empty tables into a data folder, as its first start would: PGlite takes about five
 * seconds of a processor to make one, so the tests make it once and copy it.
 */
export async function copyNewDatabase(dataDir: string): Promise<void> {
  made ??= makeTemplate();
  const template = await made;
  await mkdir(dataDir, { mode: 0o700, recursive: true });
  cpSync(template, join(dataDir, "database"), { recursive: true });
}

/** Kept between runs, and for a week where no run uses it; of several that make it at the same moment, the first is used. */
async function makeTemplate(): Promise<string> {
  const digest = createHash("sha256");
  for (const source of SOURCES) digest.update(readFileSync(join(ROOT, source)));
  const template = join(CACHE, `database-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(template)) {
    const now = new Date();
    utimesSync(template, now, now);
    return template;
  }
  await mkdir(CACHE, { recursive: true });
  for (const name of readdirSync(CACHE).filter(isUnused)) {
    await rm(join(CACHE, name), { recursive: true, force: true });
  }
  const staged = await mkdtemp(join(CACHE, "making-"));
  const database = await openDatabase({ databaseUrl: undefined, dataDir: staged });
  await database.close();
  await rename(join(staged, "database"), template).catch((error) => {
    if (!existsSync(template)) throw error;
  });
  await rm(staged, { recursive: true, force: true });
  return template;
}

/** Other working trees may share the cache, and copy a template while this one makes another. */
function isUnused(name: string): boolean {
  if (!/^(database|making)-/.test(name)) return false;
  const entry = statSync(join(CACHE, name), { throwIfNoEntry: false });
  return entry !== undefined && Date.now() - entry.mtimeMs > WEEK_MILLISECONDS;
}
