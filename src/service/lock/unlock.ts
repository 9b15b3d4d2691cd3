import { rmSync } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { heldBy } from "./data-lock.ts";
import { type Holder, lockFile, readLock, stateOf } from "./lock-holder.ts";

/**
 * Removes the lock of a holder on another host, which an operator knows to be gone. If it is not gone, it finds its lock missing, and ends.
 * @returns the former holder.
 * @throws MucastError unavailable if the holder runs on this host; invalid_request if there is no lock.
 */
export function unlockDataFolder(dataDir: string): Holder {
  const path = lockFile(dataDir);
  const holder = readLock(path);
  if (holder === undefined) {
    throw new MucastError("invalid_request", `${dataDir} is not locked: there is no ${path}`, { path });
  }
  if (stateOf(holder) === "held") throw heldBy(dataDir, holder);
  rmSync(path, { force: true });
  return holder;
}
