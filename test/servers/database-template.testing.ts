import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPglite } from "../../src/service/database/pglite.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/mucast");
/** What decides how a new database looks. */
const SOURCES = ["src/service/database/pglite.ts", "node_modules/@electric-sql/pglite/package.json"];

let made: Promise<string> | undefined;

/**
 * Puts a new, empty embedded database into a data folder, as its first start would: PGlite takes about four seconds of a
 * processor to make one, so the tests make it once and copy it.
 */
export async function copyNewDatabase(dataDir: string): Promise<void> {
  made ??= makeTemplate();
  const template = await made;
  await mkdir(dataDir, { mode: 0o700 });
  cpSync(template, join(dataDir, "database"), { recursive: true });
}

/** Kept between runs, and older ones not; of several that make it at the same moment, the first is used. */
async function makeTemplate(): Promise<string> {
  const digest = createHash("sha256");
  for (const source of SOURCES) digest.update(readFileSync(join(ROOT, source)));
  const template = join(CACHE, `database-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(template)) return template;
  await mkdir(CACHE, { recursive: true });
  const older = readdirSync(CACHE).filter((name) => /^database-/.test(name) && name !== basename(template));
  for (const name of older) await rm(join(CACHE, name), { recursive: true, force: true });
  const staged = await mkdtemp(join(CACHE, "making-"));
  const database = await openPglite(join(staged, "database"));
  await database.close();
  await rename(join(staged, "database"), template).catch((error) => {
    if (!existsSync(template)) throw error;
  });
  await rm(staged, { recursive: true, force: true });
  return template;
}
