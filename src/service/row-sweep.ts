import type { Log } from "./telemetry/log.ts";

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
