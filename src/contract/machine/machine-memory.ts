import { totalmem } from "node:os";

const DEFAULT_SHARE = 0.8;

/** Bytes that jobs may hold by default: 80 % of what the machine, or the container, has. */
export function defaultMemoryBytes(): number {
  return Math.floor(DEFAULT_SHARE * machineMemory());
}

const REQUEST_SHARE = 0.1;
const REQUEST_BYTES = { least: 512 * 2 ** 20, most: 2 ** 31 };

/** Bytes that the process of one request may hold by default: a tenth, in bounds. */
export function defaultRequestMemoryBytes(): number {
  const { least, most } = REQUEST_BYTES;
  return Math.floor(Math.min(most, Math.max(least, REQUEST_SHARE * machineMemory())));
}

function machineMemory(): number {
  // 0 if nothing constrains the process; more than the machine has if a container sets no limit.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
