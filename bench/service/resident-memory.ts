/** The memory of a process, as Linux reports it for a process of the same user. */
import { readFileSync } from "node:fs";

/** Resident now. */
export function residentMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Number(kibibytes) / 1_024;
}
