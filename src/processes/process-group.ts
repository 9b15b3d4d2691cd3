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
      // It is gone.
    }
  }
}

/**
 * Kills the processes of a session whose leader has ended, and waits until they are gone: workers have groups of their own, not sessions.
 * On Linux only; elsewhere they end by themselves within a second.
 */
export async function killSession(leader: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  const find = () => processesOfSession(leader);
  for (let left = find(); left?.length !== 0 && performance.now() < deadline; left = find()) {
    for (const pid of left ?? []) killGroup(pid);
    await pause(POLL_MILLISECONDS);
  }
}

/** Pids of a session's running processes; undefined without a free descriptor, none if the system is not Linux. */
export function processesOfSession(session: number): number[] | undefined {
  if (process.platform !== "linux") return [];
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((pid) => sessionOf(pid) === session);
  } catch {
    return undefined;
  }
}
