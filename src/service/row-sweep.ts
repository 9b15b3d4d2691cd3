/** Runs a sweep at once and then at intervals. @returns a function that stops it and waits for its end. */
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
