import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MILLISECONDS = 10;
const PATIENCE_MILLISECONDS = 5_000;

/** Waits until none of these processes runs any more; they are being killed, and are not our children. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  while (pids.some(isRunning) && performance.now() < deadline) await sleep(POLL_MILLISECONDS);
}

/** Whether a process of that pid runs; a zombie that nobody waits for does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^\d+ \(.*\) [ZX]/s.test(stat);
  } catch {
    return process.platform !== "linux";
  }
}
