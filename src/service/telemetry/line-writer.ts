import { writeSync } from "node:fs";

const PAUSE_MILLISECONDS = 10;
/** How often a reader that is behind is waited for; together a second. */
const PAUSES = 100;

/**
 * Writes lines to a descriptor, each at once, so that what was logged before a crash is there after it. A line that
 * cannot be written (a full disk, a reader that is gone) is lost and counted, and the next one is tried again.
 */
export class LineWriter {
  /** Lines that were lost. */
  lost = 0;
  readonly #descriptor: number;
  /** The last line was written in part: the next one begins behind a line break. */
  #isTorn = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** @param line with its line break. */
  write(line: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let written = 0;
    try {
      for (let pauses = 0; written < bytes.length; ) {
        const more = this.#take(bytes, written, pauses);
        if (more === undefined) pauses++;
        else written += more;
      }
      this.#isTorn = false;
    } catch {
      this.lost++;
      this.#isTorn ||= written > 0;
    }
  }

  /** @returns how many bytes were taken; undefined after a pause for a reader that is behind. */
  #take(bytes: Buffer, from: number, pauses: number): number | undefined {
    try {
      return writeSync(this.#descriptor, bytes, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || pauses >= PAUSES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
      return undefined;
    }
  }
}
