import { constants, fstatSync, openSync, writeSync } from "node:fs";

const PAUSE_MILLISECONDS = 10;
/** Pauses for a slow reader of one line, a second in total. The service does nothing else meanwhile. */
const PAUSES = 100;

/**
 * Writes lines to a descriptor, each immediately, so that a crash loses no earlier line. Counts a line that cannot be written (full
 * disk, closed pipe) as lost, and tries the next one. Waits for a slow reader once, and then not again until the reader has read a
 * line.
 */
export class LineWriter {
  /** The number of lost lines. */
  lost = 0;
  readonly #descriptor: number;
  /** The last line was written partially, so the next one starts with a line break. */
  #isTorn = false;
  /** The last line was lost to a slow reader. */
  #isReaderSlow = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** @param line with its line break. */
  write(line: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let written = 0;
    try {
      for (let pauses = this.#isReaderSlow ? PAUSES : 0; written < bytes.length; ) {
        const more = this.#take(bytes, written, pauses);
        if (more === undefined) pauses++;
        else written += more;
      }
      this.#isTorn = false;
      this.#isReaderSlow = false;
    } catch (error) {
      this.lost++;
      this.#isReaderSlow = isReaderSlow(error);
      this.#isTorn ||= written > 0;
    }
  }

  /** @returns the number of bytes written; undefined after a pause for a slow reader. */
  #take(bytes: Buffer, from: number, pauses: number): number | undefined {
    try {
      return writeSync(this.#descriptor, bytes, from);
    } catch (error) {
      if (!isReaderSlow(error) || pauses >= PAUSES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
      return undefined;
    }
  }
}

function isReaderSlow(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EAGAIN";
}

/**
 * A descriptor for the log whose writes never block. A write to a pipe blocks if the pipe's reader has stopped, so this reopens a
 * pipe in non-blocking mode: a write then fails with EAGAIN. The given descriptor stays unchanged, since other processes may share
 * it. Returns the given one if the pipe cannot be reopened (no Linux, another user's pipe).
 */
export function nonBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}
