import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { startTimeOf } from "./process-stat.ts";

/** Identifies a process among all that share a folder, by machine, pid and start time: `<machine>-<pid>-<start>`. */
export function processMark(): string {
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
