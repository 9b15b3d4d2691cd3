import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, with those above it that are missing. Node's own recursive mkdir never returns where a file system
 * says that the folder above is not there although it is, as /proc does.
 * @param mode of each folder that is made, less the umask.
 * @returns the topmost folder that was made; undefined where it was there.
 * @throws the system's error.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  const code = tried(path, mode);
  if (code === undefined) return path;
  if (code === "EEXIST") return undefined;
  const made = makeFolder(dirname(path), mode);
  mkdirSync(path, { mode });
  return made ?? path;
}

/** @returns undefined where it was made; EEXIST where it is there; ENOENT where the folder above is missing. */
function tried(path: string, mode: number): "EEXIST" | "ENOENT" | undefined {
  try {
    mkdirSync(path, { mode });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) return code;
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return "EEXIST";
    throw error;
  }
}
