import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, workFolderError } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { isGone, isOfThisMachine, processMark } from "../../contract/machine/process-stat.ts";

/**
 * A private folder for one job's matrices, in the system's folder for temporary files (TMPDIR). Its name contains the mark of its process,
 * by which the next job of the user finds and removes the folder of a killed process. Containers may share TMPDIR: a job removes the folder
 * of another container's process only once it is a week old.
 */
export interface WorkFolder {
  readonly path: string;
  /** Removes the files in it. @returns false if it can no longer be used, for example because it was removed. */
  clear(): boolean;
  remove(): void;
}

export function openWorkFolder(base: string = tmpdir()): WorkFolder {
  try {
    makeFolder(base, 0o700);
    for (const folder of abandonedIn(base)) rmSync(folder, { recursive: true, force: true });
    const path = mkdtempSync(join(base, `mucast-${processMark()}-`));
    return {
      path,
      clear() {
        try {
          for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
          return true;
        } catch {
          return false;
        }
      },
      remove: () => rmSync(path, { recursive: true, force: true }),
    };
  } catch (cause) {
    throw new MucastError(
      "output_failed",
      `cannot make a work folder under ${base}: ${causeOf(cause)}; TMPDIR names another place`,
      { path: base },
      { cause },
    );
  }
}

/**
 * Opens a work folder for `body`, and removes it. Outputs that `body`, or a job that it runs, writes there are not the caller's.
 * @throws MucastError output_failed if the folder cannot be made, or an output cannot be written into it: the error names TMPDIR, and no
 * path of the folder; errors of `body`.
 */
export async function inWorkFolder<T>(body: (path: string) => Promise<T>, base?: string): Promise<T> {
  const work = openWorkFolder(base);
  try {
    return await body(work.path);
  } catch (error) {
    const isUnwritten =
      error instanceof MucastError &&
      error.code === "output_failed" &&
      error.cause !== undefined &&
      `${error.data.path}`.startsWith(`${work.path}${sep}`);
    throw isUnwritten ? workFolderError("written", error.cause) : error;
  } finally {
    work.remove();
  }
}

/**
 * Removes the folders of killed processes of this machine, without waiting for the next job. Never rejects: the next job tries again to
 * remove a folder that cannot be removed now.
 * @param temporary TMPDIR of those processes.
 */
export async function sweepWorkFolders(temporary: string): Promise<void> {
  try {
    for (const folder of abandonedIn(temporary)) await rm(folder, { recursive: true, force: true });
  } catch {
    // There is no such folder, or it cannot be read.
  }
}

/**
 * The work folders of a running process of this machine.
 * @param temporary TMPDIR of that process.
 */
export function workFoldersOf(pid: number, temporary: string): string[] {
  try {
    const own = foldersIn(temporary).filter(({ mark }) => mark.split("-")[1] === String(pid));
    return own.filter(({ mark }) => isOfThisMachine(mark) && !isGone(mark)).map(({ path }) => path);
  } catch {
    // There is no such folder, or it cannot be read.
    return [];
  }
}

const NAME = /^mucast-([0-9a-f]{8}-\d+-\d+)-/;

/** Those of this user, with the mark of their process: another user may make folders of any name. */
function foldersIn(base: string) {
  return readdirSync(base).flatMap((name) => {
    const mark = NAME.exec(name)?.[1];
    const path = join(base, name);
    const found = mark === undefined ? undefined : lstatSync(path, { throwIfNoEntry: false });
    if (mark === undefined || !found?.isDirectory() || found.uid !== process.geteuid?.()) return [];
    return [{ path, mark, changedMs: found.mtimeMs }];
  });
}

/** Much longer than a running job goes without adding or removing a file. */
const OLD_MILLISECONDS = 7 * 24 * 3_600_000;

function abandonedIn(base: string): string[] {
  return foldersIn(base)
    .filter(({ mark, changedMs }) =>
      isOfThisMachine(mark) ? isGone(mark) : Date.now() - changedMs > OLD_MILLISECONDS,
    )
    .map(({ path }) => path);
}
