import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isGone } from "./process-mark.ts";

const STAGED = /^\..+\.([0-9a-f]{8}-\d+-\d+)-[0-9a-f]{12}\.tmp$/;

/** A file that its writer has not touched for so long, on whatever machine, is nobody's. */
const ABANDONED_MS = 24 * 3_600_000;

const swept = new Set<string>();

/**
 * Removes the staged files that killed processes have left in a folder; once for each folder, as what a process of
 * ours leaves behind later is found by the next one.
 */
export async function sweepStaged(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  // A folder that may be written to but not listed is no reason to write nothing.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const mark = STAGED.exec(name)?.[1];
    if (mark === undefined) continue;
    const path = join(folder, name);
    // Another writer may be sweeping too, or just giving its file its name.
    if (isGone(mark) || (await isAbandoned(path))) await unlink(path).catch(() => undefined);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
}
