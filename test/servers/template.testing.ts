import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/mucast");

const WEEK_MILLISECONDS = 7 * 24 * 3_600_000;

/**
 * A folder that takes processor seconds to create and is copied by tests. It is kept between runs, and for a week if no run uses it; if
 * several create it at the same moment, the first is used.
 * @param sources files under the root whose change asks for a new one.
 * @param make writes it into a new folder, which becomes its parent.
 * @returns its path.
 */
export async function template(
  name: string,
  sources: readonly string[],
  make: (parent: string) => Promise<void>,
): Promise<string> {
  const digest = createHash("sha256");
  for (const source of sources) digest.update(readFileSync(join(ROOT, source)));
  const kept = join(CACHE, `${name}-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(kept)) {
    const now = new Date();
    utimesSync(kept, now, now);
    return kept;
  }
  await mkdir(CACHE, { recursive: true });
  for (const other of readdirSync(CACHE).filter((entry) => isUnused(entry, name))) {
    await rm(join(CACHE, other), { recursive: true, force: true });
  }
  const staged = await mkdtemp(join(CACHE, `making-${name}-`));
  await make(staged);
  await rename(join(staged, name), kept).catch((error) => {
    if (!existsSync(kept)) throw error;
  });
  await rm(staged, { recursive: true, force: true });
  return kept;
}

/** Other working trees may share the cache, and copy a template while this one creates another. */
function isUnused(entry: string, name: string): boolean {
  if (!entry.startsWith(`${name}-`) && !entry.startsWith(`making-`)) return false;
  const found = statSync(join(CACHE, entry), { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > WEEK_MILLISECONDS;
}
