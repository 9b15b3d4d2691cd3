import { readFileSync } from "node:fs";
import { totalmem } from "node:os";

const PAGE_BYTES = 4_096;
const DEFAULT_SHARE = 0.8;

/** Bytes the workers of a pool may hold together: 80 % of what the machine, or the container, has. */
export function defaultMemoryLimit(): number {
  // 0 where nothing constrains the process, and more than there is where a container sets no limit.
  const constrained = process.constrainedMemory();
  return DEFAULT_SHARE * (constrained > 0 ? Math.min(constrained, totalmem()) : totalmem());
}

/**
 * Memory that only the end of the process gives back: resident pages that are not of a file. Mapped input arrays do
 * not count, and pages that a forked worker still shares with its host do.
 * @returns bytes; 0 where the process is gone, or where there is no /proc (macOS).
 */
export function privateMemory(pid: number): number {
  try {
    const [, resident, shared] = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ").map(Number);
    return (resident! - shared!) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
