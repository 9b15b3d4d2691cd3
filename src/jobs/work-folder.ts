import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { MucastError } from "../contract/errors.ts";

/**
 * A private folder for one job's matrices, under the system's folder for temporary files (TMPDIR). Its name carries
 * pid and start time of its process, so that the next job removes what a killed one left behind.
 */
export interface WorkFolder {
  readonly path: string;
  remove(): void;
}

/** @throws MucastError output_failed where the folder cannot be made. */
export function openWorkFolder(base: string = defaultBase()): WorkFolder {
  try {
    makePrivate(base);
    sweep(base);
    const path = mkdtempSync(join(base, `${process.pid}-${startTimeOf(process.pid) ?? 0}-`));
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MucastError(
      "output_failed",
      `cannot make a work folder under ${base}: ${reason}`,
      { path: base },
      { cause },
    );
  }
}

function defaultBase(): string {
  return join(tmpdir(), `mucast-${userInfo().uid}`);
}

function makePrivate(base: string): void {
  mkdirSync(base, { recursive: true, mode: 0o700 });
  const found = lstatSync(base);
  if (!found.isDirectory() || found.uid !== userInfo().uid || (found.mode & 0o022) !== 0) {
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

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat); "0" where the system has no
 * /proc and the process is alive; undefined where there is no such process.
 */
function startTimeOf(pid: number): string | undefined {
  if (process.platform !== "linux") return isAlive(pid) ? "0" : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
