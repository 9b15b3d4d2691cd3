import { totalmem } from "node:os";

/** Default memory limit of jobs in bytes: 80 % of the memory of the machine or the container. */
export function defaultMemoryBytes(): number {
  return Math.floor(0.8 * machineMemory());
}

/** Default memory limit of the process of one request, in bytes: a tenth, from 512 MiB to 2 GiB. */
export function defaultRequestMemoryBytes(): number {
  return Math.floor(Math.min(2 ** 31, Math.max(2 ** 29, 0.1 * machineMemory())));
}

function machineMemory(): number {
  // 0 if nothing limits the process; more than the machine has if a container sets no limit.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
