import { constants, fstatSync, openSync } from "node:fs";
import pino from "pino";

/** Bytes of lines that wait for a slow reader or for room on the disk. */
const MAX_WAITING_BYTES = 2 ** 20;

export interface LogDestination {
  write(line: string): void;
  readonly lost: number;
}

/**
 * Opens a descriptor for the log. A line is written at once, so that a crash loses no earlier line. If the descriptor refuses it (a
 * full disk, a pipe whose reader has stopped), it waits in memory, and the next line tries again; beyond the maximum, lines are
 * dropped. Once the reader of a pipe is gone, pino drops all lines.
 * @param onLost called with the number of dropped lines once the lines before them are written.
 */
export function openLogDestination(
  descriptor: number,
  onLost: (lines: number) => void = () => undefined,
): LogDestination {
  let lost = 0;
  let reported = 0;
  const destination = pino.destination({
    dest: openNonBlocking(descriptor),
    sync: true,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => false,
  });
  destination.on("drop", () => {
    lost++;
    // pino drops a line without trying to write those that wait.
    destination.write("");
  });
  destination.on("drain", () => {
    const dropped = lost - reported;
    reported = lost;
    if (dropped > 0) onLost(dropped);
  });
  // The line waits.
  destination.on("error", () => undefined);
  return {
    write: (line) => void destination.write(line),
    get lost() {
      return lost;
    },
  };
}

/**
 * A descriptor whose writes never block. A write to a pipe blocks if the pipe's reader has stopped, so this reopens a pipe in
 * non-blocking mode: a write then fails with EAGAIN. The given descriptor stays unchanged, since other processes may share it.
 * Returns the given one if the pipe cannot be reopened (no Linux, another user's pipe).
 */
function openNonBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}
