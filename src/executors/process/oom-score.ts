import { readFileSync, writeFileSync } from "node:fs";

/**
 * Makes the kernel end this process, and what it starts from now on, before its service where the machine's memory runs
 * out: then the service is there to report what failed. Does nothing where there is no such file (macOS).
 */
export function offerToOomKiller(): void {
  const file = "/proc/self/oom_score_adj";
  const [more, most] = [500, 1_000];
  try {
    const own = Number(readFileSync(file, "latin1"));
    writeFileSync(file, String(Math.min(most, own + more)));
  } catch {
    // A system that has no such scores decides by its own.
  }
}
