import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderObstacle } from "../../blob/folder/staged-file.ts";
import { isGone, isOfThisMachine, ownMark } from "../../blob/folder/sweep-staged.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";

/**
 * A private folder for one job's matrices, under the system's folder for temporary files (TMPDIR). Its name carries
 * the mark of its process, by which the next job finds and removes the folder of a killed one. Containers may share
 * TMPDIR: what a process of another one holds is not touched before it is a week old.
 */
export interface WorkFolder {
  readonly path: string;
  /** Removes the files in it. @returns false where it cannot be used any more, such as one that was removed. */
  clear(): boolean;
  remove(): void;
}

/** @throws MucastError output_failed where the folder cannot be made. */
export function openWorkFolder(base: string = defaultBase()): WorkFolder {
  try {
    makePrivate(base);
    for (const left of leftIn(base)) rmSync(left, { recursive: true, force: true });
    const path = mkdtempSync(join(base, `${ownMark()}-`));
    const clear = () => {
      try {
        for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
        return true;
      } catch {
        return false;
      }
    };
    return { path, clear, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    throw new MucastError(
      "output_failed",
      `cannot make a work folder under ${base}: ${causeOf(folderObstacle(base, cause))}; TMPDIR names another place`,
      { path: base },
      { cause },
    );
  }
}

/** Not that of the list of users, which may not have this one, as with `docker run --user 12345`. */
function ownUid(): number | undefined {
  return process.geteuid?.();
}

function defaultBase(temporary = tmpdir()): string {
  return join(temporary, `mucast-${ownUid()}`);
}

/**
 * Removes what killed processes of this machine have left, without waiting for the next job to do so. Never rejects:
 * what cannot be removed now is tried again by the next job.
 * @param temporary TMPDIR of those processes.
 */
export async function sweepWorkFolders(temporary: string): Promise<void> {
  try {
    for (const left of leftIn(defaultBase(temporary))) await rm(left, { recursive: true, force: true });
  } catch {
    // There is no such folder, or it cannot be read.
  }
}

function makePrivate(base: string): void {
  makeFolder(base, 0o700);
  const found = lstatSync(base);
  if (!found.isDirectory() || found.uid !== ownUid() || (found.mode & 0o022) !== 0) {
    throw new MucastError(
      "output_failed",
      `${base} is not a folder of this user alone; remove it or set TMPDIR`,
      {
        path: base,
      },
    );
  }
}

const NAME = /^([0-9a-f]{8}-\d+-\d+)-/;

/** Far longer than a job goes without a file that is new or gone. */
const ABANDONED_MS = 7 * 24 * 3_600_000;

/** Paths of the folders under `base` that no process holds any more. */
function leftIn(base: string): string[] {
  return readdirSync(base).flatMap((name) => {
    const mark = NAME.exec(name)?.[1];
    const path = join(base, name);
    return mark !== undefined && (isOfThisMachine(mark) ? isGone(mark) : isAbandoned(path)) ? [path] : [];
  });
}

function isAbandoned(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
}
