import { readFileSync } from "node:fs";

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat): with its pid it names one process.
 * "0" where the system has no /proc and the process is alive; undefined where there is no such process.
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
