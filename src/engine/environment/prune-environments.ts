import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { ENVIRONMENT_NAMES, environmentFolder, lockFile, namedPython } from "./environment.ts";
import { discardFolder, whileBuildingAlone } from "./install-environment.ts";

/** The names of environments: a flavour and the first 16 digits of the hash of its lock. */
const NAME = new RegExp(`^(${ENVIRONMENT_NAMES.join("|")})-[0-9a-f]{16}$`);

/**
 * Removes the environments that other versions of mucast made from other locks, except those in use. Takes the lock of set-up, so it
 * never meets an environment that is being built.
 * @param report receives a line for each environment.
 * @throws MucastError invalid_request on systems other than Linux, where the users of an environment are unknown.
 */
export async function pruneEnvironments(report: (line: string) => void): Promise<void> {
  const parent = dirname(environmentFolder("uv"));
  if (listOthers(parent).length === 0) {
    report(`setup: ${parent} has no environments of other locks`);
    return;
  }
  if (process.platform !== "linux") {
    const message = `only on Linux can mucast tell which environments are in use; remove the others from ${parent} by hand`;
    throw new MucastError("invalid_request", message, { path: parent });
  }
  await whileBuildingAlone(parent, report, async () => {
    for (const name of listOthers(parent)) {
      const folder = join(parent, name);
      const user = userOf(folder);
      if (user !== undefined) {
        report(`setup: kept ${name}, which ${user} uses`);
        continue;
      }
      const { freed, isShared } = sizeOf(folder);
      discardFolder(folder);
      const rest = isShared ? "; uv's cache or another environment has the rest (`uv cache prune`)" : "";
      report(`setup: removed ${name}, which freed ${formatSize(freed)}${rest}`);
    }
  });
}

function listOthers(parent: string): string[] {
  if (!existsSync(parent)) return [];
  // The published package lacks the locks of development.
  const names = ENVIRONMENT_NAMES.filter((name) => existsSync(lockFile(name)));
  const current = new Set(names.map((name) => environmentFolder(name)));
  return readdirSync(parent).filter((name) => NAME.test(name) && !current.has(join(parent, name)));
}

/** What uses an environment, in words. */
function userOf(folder: string): string | undefined {
  const named = namedPython() ?? "";
  const isBare = named !== "" && !named.includes(sep);
  const paths = isBare ? (process.env.PATH ?? "").split(delimiter).map((at) => resolve(at, named)) : [named];
  if (paths.some((path) => liesIn(path, folder))) return "MUCAST_PYTHON";
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isUsing(name, folder));
  return pids.length === 0 ? undefined : `process ${pids.join(", ")}`;
}

/**
 * Whether a process was started as a program of `folder`, or has mapped a file of it, such as a library. Processes of other containers and
 * machines are not seen, and of other users' processes only what they were started as.
 */
function isUsing(pid: string, folder: string): boolean {
  const maps = readOrEmpty(`/proc/${pid}/maps`);
  return (
    maps.includes(` ${folder}${sep}`) ||
    maps.includes(` ${realpathSync(folder)}${sep}`) ||
    liesIn(readOrEmpty(`/proc/${pid}/cmdline`).split("\0", 1)[0]!, folder)
  );
}

/** An interpreter of a virtual environment is a link to one outside, so only the links of its folder are followed. */
function liesIn(path: string, folder: string): boolean {
  if (!isAbsolute(path)) return false;
  try {
    return join(realpathSync(dirname(path)), basename(path)).startsWith(realpathSync(folder) + sep);
  } catch {
    return false; // It does not exist, or belongs to another user.
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // The process has ended, or belongs to another user.
  }
}

/** Bytes of the files that no other link keeps, and whether there are others. uv links files from its cache. */
function sizeOf(folder: string): { freed: number; isShared: boolean } {
  const size = { freed: 0, isShared: false };
  // Node's own recursive readdir follows links to folders, such as `lib64`.
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const { nlink, blocks } = lstatSync(path);
    const inside = entry.isDirectory() ? sizeOf(path) : undefined;
    // POSIX counts `blocks` in 512 bytes, whatever the file system's own are.
    size.freed += inside?.freed ?? (nlink === 1 ? blocks * 512 : 0);
    size.isShared ||= inside?.isShared ?? nlink > 1;
  }
  return size;
}

function formatSize(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
