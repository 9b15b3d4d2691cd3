import { readFileSync } from "node:fs";

const TICKS_A_SECOND = 100;

/** Processor seconds of this process and of those that it started and waited for; available only on Linux. */
export function processorSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const own = (userCPUTime + systemCPUTime) / 1e6;
  if (process.platform !== "linux") return own;
  const stat = readFileSync("/proc/self/stat", "latin1");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(13, 15)
    .map(Number) as [number, number];
  return own + (user + system) / TICKS_A_SECOND;
}
