import type { Stats } from "node:fs";
import { lstat, readdir, readlink, realpath, stat, statfs } from "node:fs/promises";
import { join, sep } from "node:path";

export interface Usage<User> {
  readonly user: User;
  readonly bytes: number;
}

export interface OverLimit {
  readonly together: number;
  readonly limit: number;
}

interface UsageLimitOptions<User> {
  readonly measure: () => Promise<readonly Usage<User>[]>;
  /** Limit of all together, in bytes. @param together what they take. */
  readonly limit: (together: number) => number | Promise<number>;
  /** @param usages the largest first. */
  readonly onOver: (usages: readonly Usage<User>[], facts: OverLimit) => void;
  /** Milliseconds between two measurements: `factor` times as long as a measurement takes, within bounds. */
  readonly pause: { readonly min: number; readonly max: number; readonly factor: number };
}

/**
 * Measures again and again what processes take of something that they share, such as memory. Two measurements in a row must exceed the
 * limit: a job may notice by itself that it is too large, and continue with less.
 */
export class UsageLimit<User> {
  readonly #options: UsageLimitOptions<User>;
  #wasOver = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: UsageLimitOptions<User>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { min, max, factor } = this.#options.pause;
    const begun = performance.now();
    await this.measure();
    const pause = Math.min(max, Math.max(min, factor * (performance.now() - begun)));
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.start(), pause).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async measure(): Promise<void> {
    const usages = [...(await this.#options.measure())].sort((a, b) => b.bytes - a.bytes);
    const together = usages.reduce((total, { bytes }) => total + bytes, 0);
    const limit = await this.#options.limit(together);
    const isOver = together > limit;
    if (isOver && this.#wasOver && !this.#isStopped) this.#options.onOver(usages, { together, limit });
    this.#wasOver = isOver && !this.#wasOver;
  }
}

/** The unit of `blocks`. */
const BLOCK_BYTES = 512;

/**
 * Bytes on disk of the files in a folder and its subfolders, and of those without a name that a process has open there, such as the copy of a
 * table (on Linux). A file counts once, whatever the number of its names; one that disappears meanwhile does not count.
 */
export async function diskBytes(folder: string, pid: number): Promise<number> {
  const byInode = new Map<number, number>();
  const add = async (found: Promise<Stats>) => {
    const file = await found.catch(() => undefined);
    if (file !== undefined) byInode.set(file.ino, file.blocks * BLOCK_BYTES);
  };
  const walk = async (place: string) => {
    for (const entry of await readdir(place, { withFileTypes: true }).catch(() => [])) {
      const path = join(place, entry.name);
      await (entry.isDirectory() ? walk(path) : add(lstat(path)));
    }
  };
  await walk(folder);
  const place = await realpath(folder).catch(() => folder);
  const descriptors = `/proc/${pid}/fd`;
  for (const name of await readdir(descriptors).catch(() => [])) {
    const path = join(descriptors, name);
    const target = await readlink(path).catch(() => "");
    if (target.endsWith(" (deleted)") && target.startsWith(`${place}${sep}`)) await add(stat(path));
  }
  return [...byInode.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Bytes of the file system of a folder that programs may still write; infinite if it does not say. */
export function freeBytes(folder: string): Promise<number> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => Number.POSITIVE_INFINITY,
  );
}
