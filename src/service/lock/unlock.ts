import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { heldBy } from "./data-lock.ts";
import { type Holder, lastTouch, lockFile, readLock, stateOf, TOUCH_MILLISECONDS } from "./lock-holder.ts";
import { MAX_STANDSTILL_MILLISECONDS } from "./lock-watch.ts";

/** A holder that was frozen for this long touches nothing any more, even if it has not yet noticed that its lock is gone. */
export const WATCH_MILLISECONDS = MAX_STANDSTILL_MILLISECONDS + 2 * TOUCH_MILLISECONDS;

/**
 * Removes the lock of a holder on another machine, which an operator knows to be gone. Watches it first: a running holder touches its
 * lock. A frozen one finds its lock gone when it wakes, and ends.
 * @param wait for longer than a live holder is silent.
 * @returns the former holder.
 * @throws MucastError unavailable if the holder lives; invalid_request if there is no lock.
 */
export async function unlockDataFolder(
  dataDir: string,
  wait: () => Promise<unknown> = () => pause(WATCH_MILLISECONDS),
): Promise<Holder> {
  const path = lockFile(dataDir);
  const holder = readLock(path);
  if (holder === undefined) {
    throw new MucastError("invalid_request", `${dataDir} is not locked: there is no ${path}`, { path });
  }
  const state = stateOf(holder, path);
  if (state === "held") throw heldBy(dataDir, holder, path, state);
  const touched = lastTouch(path);
  if (state !== "gone") await wait();
  const now = readLock(path);
  // It has ended normally in the meantime.
  if (now === undefined) return holder;
  if (lastTouch(path) !== touched || now.token !== holder.token) {
    const message = `process ${now.pid} on ${now.host} touched its lock just now, so it runs: stop it there`;
    throw new MucastError("unavailable", message, { path });
  }
  rmSync(path);
  return holder;
}
