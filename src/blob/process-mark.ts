import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** What tells processes apart that may write to one folder: machine, pid and start time, `<machine>-<pid>-<start>`. */
export function ownMark(): string {
  return `${machine()}-${process.pid}-${startTimeOf(process.pid) ?? 0}`;
}

/** @returns true where the process of a mark was one of this machine and runs no more. */
export function isGone(mark: string): boolean {
  const [where, pid, start] = mark.split("-");
  return where === machine() && startTimeOf(Number(pid)) !== start;
}

let known: string | undefined;

/** Pids mean something only within one boot and one namespace: containers may share a folder, not a pid. */
function machine(): string {
  known ??= createHash("sha256").update(machineFacts().join("\n")).digest("hex").slice(0, 8);
  return known;
}

function machineFacts(): string[] {
  if (process.platform !== "linux") return [hostname()];
  const boot = told(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return [hostname(), boot, told(() => readlinkSync("/proc/self/ns/pid"))];
}

/** A sandbox may hide such a file; what is left tells machines apart well enough to write. */
function told(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat); "0" where the system has no
 * /proc and the process is alive; undefined where there is no such process.
 */
export function startTimeOf(pid: number): string | undefined {
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
