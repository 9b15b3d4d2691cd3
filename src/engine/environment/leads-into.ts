import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";

/** As many as Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Whether a path lies in a folder, or is a link that leads to one there, also over further links. The target of the last link does not
 * count alone: an interpreter of a virtual environment is itself a link to one outside.
 * @param path absolute; false if it does not exist.
 */
export function leadsInto(path: string, folder: string): boolean {
  const inside = realpathSync(folder) + sep;
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links++) {
    if (at.startsWith(folder + sep)) return true;
    const parent = whenFound(() => realpathSync(dirname(at)));
    if (parent === undefined) return false;
    if (join(parent, sep).startsWith(inside)) return true;
    const target = whenFound(() => readlinkSync(join(parent, basename(at))));
    if (target === undefined) return false;
    at = resolve(parent, target);
  }
  return false;
}

/** Undefined if there is no such file or link, or it is another user's. */
function whenFound(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
