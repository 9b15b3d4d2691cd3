import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { startTimeOf } from "../../contract/machine/process-stat.ts";

const STAGED = /^\..+\.([0-9a-f]{8}-\d+-\d+)-[0-9a-f]{12}\.tmp$/;

/** A file that was not written to for this long has no writer any more, on any machine. */
const ABANDONED_MS = 24 * 3_600_000;

const swept = new Set<string>();

/** Removes the staged files of killed processes from a folder, once for each folder and process: a later process removes later ones. */
export async function sweepStaged(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  // A folder that is writable but cannot be listed is no reason to write nothing.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const mark = STAGED.exec(name)?.[1];
    if (mark === undefined) continue;
    const path = join(folder, name);
    // Another writer may be removing files too, or just giving its file its name.
    if (isGone(mark) || (await isAbandoned(path))) await unlink(path).catch(() => undefined);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
}

/** Identifies a process among all that may write to one folder, by machine, pid and start time: `<machine>-<pid>-<start>`. */
export function ownMark(): string {
  return `${machine()}-${process.pid}-${startTimeOf(process.pid) ?? 0}`;
}

/** @returns true if the process of a mark was one of this machine and is not running any more. */
export function isGone(mark: string): boolean {
  const [, pid, start] = mark.split("-");
  return isOfThisMachine(mark) && startTimeOf(Number(pid)) !== start;
}

/** Whether the process of a mark is, or was, one of this boot and namespace. */
export function isOfThisMachine(mark: string): boolean {
  return mark.split("-")[0] === machine();
}

let known: string | undefined;

/** Pids are meaningful only within one boot and one namespace: containers may share a folder, but not a pid. */
function machine(): string {
  known ??= createHash("sha256").update(machineFacts().join("\n")).digest("hex").slice(0, 8);
  return known;
}

function machineFacts(): string[] {
  if (process.platform !== "linux") return [hostname()];
  const boot = readable(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return [hostname(), boot, readable(() => readlinkSync("/proc/self/ns/pid"))];
}

/** Empty for a file that a sandbox hides; the other facts identify the machine well enough. */
function readable(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
