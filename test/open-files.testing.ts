import { readdirSync, readlinkSync } from "node:fs";

/** Paths of the files that this process has open now, on Linux. */
export function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch (error) {
      // Closed since it was listed, by another thread.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  });
}
