import type { Log } from "./telemetry/log.ts";

interface RowSweepParts<Row> {
  /** The next batch of rows in a fixed order, after a row; undefined for the first batch. Empty after the last row. */
  readonly next: (after: Row | undefined) => Promise<readonly Row[]>;
  readonly act: (row: Row) => Promise<void>;
  readonly log: Log;
  /** The fields of a row in the log. */
  readonly fields: (row: Row) => object;
  /** The message of the log for a failed row. */
  readonly failure: string;
}

/** A sweep ends after this many failures, because all rows fail, each after a while, if the storage is unreachable. */
const MAX_FAILURES = 1_000;
const MAX_LOGGED = 10;

/**
 * Acts on rows, batch by batch. A failed row waits for the next sweep and does not delay others. The next sweep continues one that
 * ended after too many failures.
 */
export class RowSweep<Row> {
  readonly #parts: RowSweepParts<Row>;
  #after: Row | undefined;

  constructor(parts: RowSweepParts<Row>) {
    this.#parts = parts;
  }

  /** Acts on each row once. @returns the number of rows that succeeded. @throws errors of `next`. */
  async run(signal: AbortSignal): Promise<number> {
    let [done, failed] = [0, 0];
    while (failed < MAX_FAILURES) {
      const rows = await this.#parts.next(this.#after);
      if (rows.length === 0) this.#after = undefined;
      if (rows.length === 0) break;
      for (const row of rows) {
        if (signal.aborted || failed === MAX_FAILURES) break;
        this.#after = row;
        if (await this.#isDone(row, failed < MAX_LOGGED)) done++;
        else failed++;
      }
      if (signal.aborted) break;
    }
    const { log, failure } = this.#parts;
    if (failed > MAX_LOGGED) log.warn({ failed }, failure);
    return done;
  }

  async #isDone(row: Row, isLogged: boolean): Promise<boolean> {
    const { act, log, fields, failure } = this.#parts;
    try {
      await act(row);
      return true;
    } catch (error) {
      if (isLogged) log.warn({ err: error, ...fields(row) }, failure);
      return false;
    }
  }
}

/**
 * Runs a sweep at once and then at a fixed interval in milliseconds, one at a time. @returns a function that stops it and waits for
 * its end.
 */
export function repeatSweep(
  sweep: (signal: AbortSignal) => Promise<void>,
  milliseconds: number,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const stop = new AbortController();
  let running = Promise.resolve();
  const run = () => {
    running = running.then(() => sweep(stop.signal)).catch(onError);
  };
  const timer = setInterval(run, milliseconds);
  run();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await running;
  };
}
