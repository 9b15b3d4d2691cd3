/** How much memory a process holds, as Linux tells it of a process of the same user. */
import { readFileSync, writeFileSync } from "node:fs";

/** Resident now. */
export function residentMiB(pid: number): number {
  return statusMiB(pid, "VmRSS");
}

/** Begins anew to watch for the most that is resident at one moment. */
export function watchMost(pid: number): void {
  // proc_pid_clear_refs(5): 5 sets the peak to what is resident now.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** The most that was resident since `watchMost`. */
export function mostResidentMiB(pid: number): number {
  return statusMiB(pid, "VmHWM");
}

function statusMiB(pid: number, name: "VmRSS" | "VmHWM"): number {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(
    readFileSync(`/proc/${pid}/status`, "utf8"),
  )!;
  return Number(kibibytes) / 1_024;
}
