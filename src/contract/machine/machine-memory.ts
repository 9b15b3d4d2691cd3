import { totalmem } from "node:os";

const DEFAULT_SHARE = 0.8;

/** Default memory limit of jobs in bytes: 80 % of the memory of the machine or the container. */
export function defaultMemoryBytes(): number {
  return Math.floor(DEFAULT_SHARE * machineMemory());
}

const REQUEST_SHARE = 0.1;
const REQUEST_BYTES = { least: 512 * 2 ** 20, most: 2 ** 31 };

/** Default memory limit of the process of one request, in bytes: a tenth, within bounds. */
export function defaultRequestMemoryBytes(): number {
  const { least, most } = REQUEST_BYTES;
  return Math.floor(Math.min(most, Math.max(least, REQUEST_SHARE * machineMemory())));
}

function machineMemory(): number {
  // 0 if nothing limits the process; more than the machine has if a container sets no limit.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
