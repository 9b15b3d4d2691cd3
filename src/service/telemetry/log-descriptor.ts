import { constants, fstatSync, openSync } from "node:fs";

/**
 * A descriptor to write a log to that never halts the process. A write to a pipe whose reader has stopped would wait for
 * as long as that lasts, so a pipe is opened anew and refuses (EAGAIN) instead; the descriptor itself, which other
 * processes may share, stays as it is. Where that cannot be done (no Linux, another user's pipe) it is the one given.
 */
export function withoutWaiting(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}
