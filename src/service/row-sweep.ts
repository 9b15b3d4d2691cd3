import type { Log } from "./telemetry/log.ts";

export interface RowSweepParts<Row> {
  /** Some of the rows that wait, in a fixed order, behind one; undefined for the first. None at the end. */
  readonly next: (after: Row | undefined) => Promise<readonly Row[]>;
  readonly act: (row: Row) => Promise<void>;
  readonly log: Log;
  /** What the log calls a row. */
  readonly shown: (row: Row) => object;
  /** What the log says of one that failed. */
  readonly failure: string;
}

/** A storage that is away fails all of them, each after a while. */
const FAILURES_AT_MOST = 1_000;
const TOLD_AT_MOST = 10;

/**
 * Goes through rows that wait, round after round. A row that fails waits for a later round and keeps no other back: after too
 * many failures a round breaks off, and the next one goes on where it did.
 */
export class RowSweep<Row> {
  readonly #parts: RowSweepParts<Row>;
  #after: Row | undefined;

  constructor(parts: RowSweepParts<Row>) {
    this.#parts = parts;
  }

  /** Takes each row once. @returns how many it has done. @throws what the database throws. */
  async go(signal: AbortSignal): Promise<number> {
    let [done, failed] = [0, 0];
    while (failed < FAILURES_AT_MOST) {
      const rows = await this.#parts.next(this.#after);
      if (rows.length === 0) this.#after = undefined;
      if (rows.length === 0) break;
      for (const row of rows) {
        if (signal.aborted || failed === FAILURES_AT_MOST) break;
        this.#after = row;
        if (await this.#isDone(row, failed < TOLD_AT_MOST)) done++;
        else failed++;
      }
      if (signal.aborted) break;
    }
    const { log, failure } = this.#parts;
    if (failed > TOLD_AT_MOST) log.warn({ failed }, failure);
    return done;
  }

  async #isDone(row: Row, isTold: boolean): Promise<boolean> {
    const { act, log, shown, failure } = this.#parts;
    try {
      await act(row);
      return true;
    } catch (error) {
      if (isTold) log.warn({ err: error, ...shown(row) }, failure);
      return false;
    }
  }
}
