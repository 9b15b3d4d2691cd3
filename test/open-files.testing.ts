import { readdirSync, readlinkSync } from "node:fs";

/** Paths of what this process has open, now, as Linux tells them. */
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
