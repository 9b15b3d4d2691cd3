import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderObstacle } from "../../blob/folder/staged-file.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";

/**
 * A private folder for one job's matrices, under the system's folder for temporary files (TMPDIR). Its name carries
 * pid and start time of its process, by which the next job finds and removes the folder of a killed one.
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
    sweep(base);
    const path = mkdtempSync(join(base, `${process.pid}-${startTimeOf(process.pid) ?? 0}-`));
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

function defaultBase(): string {
  return join(tmpdir(), `mucast-${ownUid()}`);
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

const NAME = /^(\d+)-(\d+)-/;

function sweep(base: string): void {
  for (const name of readdirSync(base)) {
    const match = NAME.exec(name);
    if (match && startTimeOf(Number(match[1])) !== match[2]) {
      rmSync(join(base, name), { recursive: true, force: true });
    }
  }
}
