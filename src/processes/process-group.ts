import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { sessionOf } from "../contract/machine/process-stat.ts";

const POLL_MILLISECONDS = 10;
const PATIENCE_MILLISECONDS = 5_000;

/** Kills a process and, if it leads a group, that group. Harmless if it no longer exists. */
export function killGroup(leader: number): void {
  for (const target of [-leader, leader]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/**
 * Kills the processes of a session whose leader has ended, and waits until they are gone: workers have their own groups, but not their own
 * sessions. On Linux only; elsewhere they end by themselves within a second, and this returns at once.
 */
export async function killSession(leader: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  let left = processesOfSession(leader);
  while (left?.length !== 0 && performance.now() < deadline) {
    for (const pid of left ?? []) killGroup(pid);
    await pause(POLL_MILLISECONDS);
    left = processesOfSession(leader);
  }
}

/** Pids of the running processes of a session; undefined without a free descriptor to list them, none if the system is not Linux. */
export function processesOfSession(session: number): number[] | undefined {
  if (process.platform !== "linux") return [];
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((pid) => sessionOf(pid) === session);
  } catch {
    return undefined;
  }
}
