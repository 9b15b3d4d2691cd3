import { existsSync, mkdirSync } from "node:fs";
import { userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { MucastError } from "../errors/errors.ts";

/**
 * Creates a folder and its missing parents.
 * @param mode of each new folder, reduced by the umask.
 * @param root must exist: neither it nor its parents are created, such as the place of a disk that is not mounted.
 * @returns the topmost folder that was created; undefined if the folder existed.
 */
export function makeFolder(path: string, mode = 0o777, root = "/"): string | undefined {
  if (!existsSync(root)) throw Object.assign(new Error(`${root} is not there`), { code: "ENOENT" });
  return mkdirSync(path, { mode, recursive: true });
}

/** The folders of the XDG Base Directory Specification, below the user's home. */
const FOLDERS = {
  XDG_DATA_HOME: { below: [".local", "share"], instead: "give --data-dir" },
  XDG_CACHE_HOME: { below: [".cache"], instead: "set XDG_CACHE_HOME" },
} as const;

/**
 * The user's folder for data or caches, absolute: from the variable, else below HOME, else below the home in the system's list of users. An
 * empty or relative variable is ignored, because files would go to the current folder.
 * @param home the user's home in the system's list of users; empty if the user is not in the list.
 * @throws MucastError invalid_request if there is no home at all.
 */
export function userFolder(
  variable: keyof typeof FOLDERS,
  env: NodeJS.ProcessEnv,
  home: () => string = homeInList,
): string {
  const { below, instead } = FOLDERS[variable];
  const named = env[variable];
  if (named !== undefined && isAbsolute(named)) return named;
  const parent = env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : home();
  if (isAbsolute(parent)) return join(parent, ...below);
  const message = `this user has no home folder: HOME is not set to an absolute path; set it, or ${instead}`;
  throw new MucastError("invalid_request", message, { path: "HOME" });
}

function homeInList(): string {
  try {
    return userInfo().homedir;
  } catch {
    return "";
  }
}
