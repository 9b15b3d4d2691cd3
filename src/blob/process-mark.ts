import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { startTimeOf } from "../contract/machine/process-stat.ts";

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
