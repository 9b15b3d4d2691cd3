import { totalmem } from "node:os";

const DEFAULT_SHARE = 0.8;

/** Bytes that jobs may hold by default: 80 % of what the machine, or the container, has. */
export function defaultMemoryBytes(): number {
  // 0 where nothing constrains the process; more than the machine has where a container sets no limit.
  const constrained = process.constrainedMemory();
  return Math.floor(DEFAULT_SHARE * (constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()));
}
