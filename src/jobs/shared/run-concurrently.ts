/**
 * Runs both at the same time. The first fault aborts the other, and is thrown when nothing is still running.
 * @param signal aborts both as well.
 */
export async function together<A, B>(
  signal: AbortSignal,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal, first: Promise<A>) => Promise<B>,
): Promise<[A, B]> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const a = first(both);
  const b = second(both, a);
  try {
    return await Promise.all([a, b]);
  } catch (error) {
    stop.abort(error);
    throw error;
  } finally {
    await Promise.allSettled([a, b]);
  }
}
