import type { Log } from "../telemetry/log.ts";

/** Runs what is tried again at its next turn: the database or the storage may be away. */
export async function quietly(log: Log, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    log.warn({ err: error }, "the queue could not be looked after; it is tried again");
  }
}
