/** The memory of a process, as Linux reports it for a process of the same user. */
import { readFileSync, writeFileSync } from "node:fs";

/** Resident now. */
export function residentMiB(pid: number): number {
  return statusMiB(pid, "VmRSS");
}

/** Resets the peak of resident memory. */
export function resetPeakMemory(pid: number): void {
  // proc_pid_clear_refs(5): 5 sets the peak to the current resident memory.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** The peak of resident memory since `resetPeakMemory`. */
export function peakResidentMiB(pid: number): number {
  return statusMiB(pid, "VmHWM");
}

function statusMiB(pid: number, name: "VmRSS" | "VmHWM"): number {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(
    readFileSync(`/proc/${pid}/status`, "utf8"),
  )!;
  return Number(kibibytes) / 1_024;
}
