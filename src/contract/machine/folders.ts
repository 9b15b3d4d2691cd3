import { existsSync, mkdirSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { MucastError } from "../errors/errors.ts";

/**
 * Creates a folder and its missing parents. Node's own recursive mkdir never returns if a file system reports an existing parent folder as
 * missing, as /proc.
 * @param mode of each new folder, reduced by the umask.
 * @param root must exist: neither it nor its parents are created.
 * @returns the topmost folder that was created; undefined if the folder existed.
 */
export function makeFolder(path: string, mode = 0o777, root?: string): string | undefined {
  if (isFolder(path)) return undefined;
  if (path === root) throw Object.assign(new Error(`${path} is not there`), { code: "ENOENT" });
  const made = existsSync(dirname(path)) ? undefined : makeFolder(dirname(path), mode, root);
  try {
    mkdirSync(path, { mode });
    return made ?? path;
  } catch (error) {
    // Another process may have created it.
    if (isFolder(path)) return made;
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The folders of the XDG Base Directory Specification, below the user's home. */
const FOLDERS = {
  XDG_DATA_HOME: { below: [".local", "share"], instead: "give --data-dir" },
  XDG_CACHE_HOME: { below: [".cache"], instead: "set XDG_CACHE_HOME" },
} as const;

/**
 * The user's folder for data or caches, absolute: from the variable, else below HOME, else below the home in the system's list of users. An
 * empty or relative variable is ignored, because files would go to the current folder.
 * @param home the user's home in the system's list of users; throws if the user is not in the list.
 * @throws MucastError invalid_request if there is no home at all.
 */
export function userFolder(
  variable: keyof typeof FOLDERS,
  env: NodeJS.ProcessEnv,
  home: () => string = () => userInfo().homedir,
): string {
  const { below, instead } = FOLDERS[variable];
  const named = env[variable];
  if (named !== undefined && isAbsolute(named)) return named;
  const parents = [() => env.HOME ?? "", home];
  for (const parent of parents) {
    try {
      if (isAbsolute(parent())) return join(parent(), ...below);
    } catch {
      // The user is not in the list.
    }
  }
  const message = `this user has no home folder: HOME is not set to an absolute path; set it, or ${instead}`;
  throw new MucastError("invalid_request", message, { path: "HOME" });
}
