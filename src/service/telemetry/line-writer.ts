import { constants, fstatSync, openSync, writeSync } from "node:fs";

const PAUSE_MILLISECONDS = 10;
/** How often a reader that is behind is waited for, together a second; the service does nothing else meanwhile. */
const PAUSES = 100;

/**
 * Writes lines to a descriptor, each at once, so that what was logged before a crash is there after it. A line that
 * cannot be written (a full disk, a reader that is gone) is lost and counted, and the next one is tried again. A reader
 * that was waited for in vain is not waited for again before it has taken a line.
 */
export class LineWriter {
  /** Lines that were lost. */
  lost = 0;
  readonly #descriptor: number;
  /** The last line was written in part: the next one begins behind a line break. */
  #isTorn = false;
  /** The last line was lost to a reader that was behind. */
  #isBehind = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** @param line with its line break. */
  write(line: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let written = 0;
    try {
      for (let pauses = this.#isBehind ? PAUSES : 0; written < bytes.length; ) {
        const more = this.#take(bytes, written, pauses);
        if (more === undefined) pauses++;
        else written += more;
      }
      this.#isTorn = false;
      this.#isBehind = false;
    } catch (error) {
      this.lost++;
      this.#isBehind = isBehind(error);
      this.#isTorn ||= written > 0;
    }
  }

  /** @returns how many bytes were taken; undefined after a pause for a reader that is behind. */
  #take(bytes: Buffer, from: number, pauses: number): number | undefined {
    try {
      return writeSync(this.#descriptor, bytes, from);
    } catch (error) {
      if (!isBehind(error) || pauses >= PAUSES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
      return undefined;
    }
  }
}

function isBehind(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EAGAIN";
}

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
