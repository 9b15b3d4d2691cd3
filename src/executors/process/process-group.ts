import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const POLL_MILLISECONDS = 10;
const PATIENCE_MILLISECONDS = 5_000;

/** Kills a process and those of its group, where it leads one. Harmless where it is gone. */
export function killGroup(leader: number): void {
  for (const target of [-leader, leader]) {
    try {
      process.kill(target, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/**
 * Kills what is left of a session whose leader has ended, and waits until it is gone: workers have groups of their
 * own, but no session. On Linux; elsewhere they end within a second by themselves, and nobody waits.
 */
export async function endSession(leader: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const left = processesOfSession(leader);
    if (left.length === 0 || performance.now() > deadline) return;
    for (const pid of left) killGroup(pid);
    await pause(POLL_MILLISECONDS);
  }
}

/** Pids of the living processes of a session; zombies that nobody waits for do not live. */
function processesOfSession(session: number): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const [state, , , its] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return its === String(session) && state !== "Z" && state !== "X" ? [Number(name)] : [];
    } catch {
      return []; // It has ended while it was looked at.
    }
  });
}
