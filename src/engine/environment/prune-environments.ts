import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { delimiter, dirname, join, resolve, sep } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { findBasePython } from "./base-python.ts";
import { whileBuildingAlone } from "./build-folder.ts";
import { ENVIRONMENT_NAMES, environmentFolder, lockFile, namedPython } from "./environment.ts";
import { leadsInto } from "./leads-into.ts";
import { processesUsing } from "./processes-using.ts";

/** The names of environments: a flavour and the first 16 digits of the hash of its lock. */
const NAME = new RegExp(`^(${ENVIRONMENT_NAMES.join("|")})-[0-9a-f]{16}$`);

/**
 * Removes the environments that other versions of mucast made from other locks, except those in use. Takes the lock of set-up, so it
 * never meets an environment that is being built.
 * @param report receives a line for each environment.
 * @throws MucastError invalid_request on systems other than Linux, where the users of an environment are unknown; engine_unavailable
 *   if there is no Python to hold the lock.
 */
export async function pruneEnvironments(report: (line: string) => void): Promise<void> {
  const parent = dirname(environmentFolder("uv"));
  if (othersIn(parent).length === 0) {
    report(`setup: ${parent} has no environments of other locks`);
    return;
  }
  if (process.platform !== "linux") {
    const message = `only on Linux can mucast tell which environments are in use; remove the others from ${parent} by hand`;
    throw new MucastError("invalid_request", message, { path: parent });
  }
  const { path: python } = await findBasePython();
  await whileBuildingAlone(python, parent, report, async () => {
    const size = new LinkedSize();
    for (const name of othersIn(parent)) {
      const user = userOf(join(parent, name));
      if (user === undefined) {
        const bytes = remove(join(parent, name), size);
        report(`setup: removed ${name}, ${inWords(bytes)}`);
      } else {
        report(`setup: kept ${name}, which ${user} uses`);
      }
    }
    report(`setup: ${inWords(size.freed)} freed${remainder(size)}`);
  });
}

function othersIn(parent: string): string[] {
  if (!existsSync(parent)) return [];
  // The published package lacks the locks of development.
  const names = ENVIRONMENT_NAMES.filter((name) => existsSync(lockFile(name)));
  const own = new Set(names.map((name) => environmentFolder(name)));
  return readdirSync(parent).filter((name) => NAME.test(name) && !own.has(join(parent, name)));
}

/** What uses an environment, in words. */
function userOf(folder: string): string | undefined {
  if (pathsOf(namedPython()).some((path) => leadsInto(path, folder))) return "MUCAST_PYTHON";
  const pids = processesUsing(folder);
  return pids.length === 0 ? undefined : `process ${pids.join(", ")}`;
}

/** The paths that a program may have; of a bare name, those in PATH. */
function pathsOf(program: string | undefined): string[] {
  if (program === undefined) return [];
  if (program.includes(sep)) return [program];
  return (process.env.PATH ?? "").split(delimiter).map((folder) => resolve(folder, program));
}

/** @returns the bytes of its files. */
function remove(folder: string, size: LinkedSize): number {
  const before = size.bytes;
  for (const path of filesIn(folder)) size.add(path);
  // A name that set-up removes if this process is killed.
  const aside = `${folder}.unfinished-pruned-${process.pid}`;
  renameSync(folder, aside);
  rmSync(aside, { recursive: true, force: true, maxRetries: 5 });
  return size.bytes - before;
}

/** Paths of files and links. Node's own recursive readdir follows links to folders, such as `lib64`. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** The bytes of files. Some are hard links to the same content, inside or outside the environments, such as in uv's cache. */
class LinkedSize {
  /** Of all files, each counted once. */
  bytes = 0;
  /** Of the files with no other link, which their removal frees. */
  freed = 0;
  readonly #linksLeft = new Map<string, number>();

  add(path: string): void {
    const { dev, ino, nlink, blocks } = lstatSync(path);
    const key = `${dev}:${ino}`;
    const left = (this.#linksLeft.get(key) ?? nlink) - 1;
    const bytes = blocks * BLOCK_BYTES;
    if (!this.#linksLeft.has(key)) this.bytes += bytes;
    if (left === 0) this.freed += bytes;
    this.#linksLeft.set(key, left);
  }
}

/** The unit of `blocks` in POSIX, whatever the file system's. */
const BLOCK_BYTES = 512;

function remainder({ bytes, freed }: LinkedSize): string {
  if (freed === bytes) return "";
  return `; ${inWords(bytes - freed)} more are shared with other environments or uv's cache (\`uv cache prune\`)`;
}

function inWords(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
