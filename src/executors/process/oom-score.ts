import { readFileSync, writeFileSync } from "node:fs";

/** Added to the score of a process: of a request before a job, which has cost more, and both before the service. */
export const OOM_SCORES = { job: 500, request: 800 };

/**
 * Makes the kernel end this process, and what it starts from now on, before its service if the machine's memory runs
 * out: then the service is there to report what failed. Does nothing if there is no such file (macOS).
 */
export function offerToOomKiller(more: number): void {
  const file = "/proc/self/oom_score_adj";
  const most = 1_000;
  try {
    const own = Number(readFileSync(file, "latin1"));
    writeFileSync(file, String(Math.min(most, own + more)));
  } catch {
    // A system that has no such scores decides by its own.
  }
}
