import { readFileSync, writeFileSync } from "node:fs";

/** Added to the out-of-memory score of a process: requests die before jobs, which cost more to repeat, and both before the service. */
export const OOM_SCORES = { job: 500, request: 800 };

/**
 * If the machine runs out of memory, makes the kernel kill this process and its later children before the service, which then can report
 * the failure. Does nothing if there is no such file (macOS).
 */
export function offerToOomKiller(more: number): void {
  const file = "/proc/self/oom_score_adj";
  const most = 1_000;
  try {
    const own = Number(readFileSync(file, "latin1"));
    writeFileSync(file, String(Math.min(most, own + more)));
  } catch {
    // A system without such scores decides by its own rules.
  }
}
