import { setTimeout as pause } from "node:timers/promises";

/** Polls cost the service time that its jobs need, so each pause is longer than the last one. */
const PAUSE_MILLISECONDS = { first: 50, last: 250, growth: 1.03 };
/** No test passes or fails because of this; it ends a test that would never end, and says what it waited for. */
const PATIENCE_MILLISECONDS = 600_000;

/** Waits until `look` returns something. @throws if it does not, naming `what` was waited for. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  let milliseconds = PAUSE_MILLISECONDS.first;
  while (performance.now() < deadline) {
    const value = await look();
    if (value !== undefined) return value;
    await pause(milliseconds);
    milliseconds = Math.min(milliseconds * PAUSE_MILLISECONDS.growth, PAUSE_MILLISECONDS.last);
  }
  throw new Error(`waited in vain: ${what}`);
}

/** The same for a condition. */
export async function eventuallyTrue(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(what, async () => ((await look()) ? true : undefined));
}
