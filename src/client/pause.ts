const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** Milliseconds before a further attempt: doubling, with a random half so that many clients do not come together. */
export function backoff(failures: number): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return most / 2 + (Math.random() * most) / 2;
}

/** Settles after `milliseconds`. @throws the signal's reason as soon as it aborts. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
