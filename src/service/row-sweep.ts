import type { Log } from "./telemetry/log.ts";

interface RowSweep<Row> {
  /** The next batch of rows in a fixed order, after a row; undefined for the first batch. Empty after the last row. */
  readonly next: (after: Row | undefined) => Promise<readonly Row[]>;
  readonly act: (row: Row) => Promise<void>;
  readonly onFailure: (row: Row, error: unknown) => void;
  readonly signal: AbortSignal;
}

/** Acts on each row once. A failed row waits for the next sweep and does not delay others. @returns the number of rows that succeeded. */
export async function sweepRows<Row>({ next, act, onFailure, signal }: RowSweep<Row>): Promise<number> {
  let done = 0;
  for (let rows = await next(undefined); rows.length > 0; rows = await next(rows.at(-1))) {
    for (const row of rows) {
      if (signal.aborted) return done;
      await act(row).then(
        () => done++,
        (error: unknown) => onFailure(row, error),
      );
    }
  }
  return done;
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

/** Logs failures, the first ten of a sweep: if the storage is unreachable, all rows fail. */
export function logFirst(log: Log, message: string): (fields: object) => void {
  let left = 10;
  return (fields) => {
    if (left-- > 0) log.warn(fields, message);
  };
}
