import { setTimeout as pause } from "node:timers/promises";

/** Polls cost the service time that its jobs need. */
const MILLISECONDS_BETWEEN_LOOKS = 50;
/** No test passes or fails because of this; it ends a test that would never end, and says what it waited for. */
const PATIENCE_MILLISECONDS = 600_000;

/** Waits until `look` returns something. @throws if it does not, naming `what` was waited for. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  while (performance.now() < deadline) {
    const value = await look();
    if (value !== undefined) return value;
    await pause(MILLISECONDS_BETWEEN_LOOKS);
  }
  throw new Error(`waited in vain: ${what}`);
}

/** The same for a condition. */
export async function eventuallyTrue(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(what, async () => ((await look()) ? true : undefined));
}
