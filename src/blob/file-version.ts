import type { BigIntStats } from "node:fs";
import { lstat, open } from "node:fs/promises";

/**
 * The strong entity tag of a file that was stamped before it got its name: the same for as long as its bytes are,
 * across restarts too. Each version is another file; should it get the inode number of an earlier one, its time is
 * another. (Not the time of the inode's change: giving the file its name changes that.)
 */
export function etagOf({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${[ino, size, mtimeNs].map((part) => part.toString(36)).join("-")}"`;
}

/** Wider than what is lost where a time becomes a double. */
const LATER_MICROSECONDS = 10n;

/**
 * Gives a staged file a modification time of its own, in microseconds, later than that of the file that it will
 * replace: the system's own clock for files stands still for milliseconds.
 * @returns its entity tag.
 */
export async function stamp(path: string, target: string): Promise<string> {
  const replaced = await lstat(target, { bigint: true }).catch(() => undefined);
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
  const after = replaced === undefined ? 0n : replaced.mtimeNs / 1000n + LATER_MICROSECONDS;
  const seconds = Number(now > after ? now : after) / 1e6;
  const handle = await open(path, "r+");
  try {
    await handle.utimes(seconds, seconds);
    return etagOf(await handle.stat({ bigint: true }));
  } finally {
    await handle.close();
  }
}
