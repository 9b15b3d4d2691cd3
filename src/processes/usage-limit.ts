import type { Stats } from "node:fs";
import { lstat, opendir, readdir, readlink, realpath, stat, statfs } from "node:fs/promises";
import { join, sep } from "node:path";

/** What one of several processes takes of something that they share. */
export interface Usage<User> {
  readonly user: User;
  readonly bytes: number;
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

/** In bytes. */
export interface OverLimit {
  readonly together: number;
  readonly limit: number;
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

  /** Measures until `stop`. */
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

/** `st_blocks` counts units of this many bytes. */
const BLOCK_BYTES = 512;

/**
 * Bytes on disk of all files in a folder and its subfolders; files that disappear meanwhile do not count.
 * @param linked inodes of the files that have several names and are counted: each candidate of a `choice` has links to the same panels.
 */
export async function folderBytes(folder: string, linked = new Set<number>()): Promise<number> {
  let bytes = 0;
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      bytes += entry.isDirectory() ? await folderBytes(path, linked) : await bytesOf(lstat(path), linked);
    }
  } catch {
    // It was removed.
  }
  return bytes;
}

/**
 * Bytes on disk of the files without a name, formerly under `folder`, that a process has open, such as the copy of a table; 0 without
 * /proc (macOS).
 */
export async function namelessBytes(pid: number, folder: string): Promise<number> {
  const descriptors = `/proc/${pid}/fd`;
  const place = await realpath(folder).catch(() => folder);
  const files = new Map<string, number>();
  for (const name of await readdir(descriptors).catch(() => [])) {
    const path = join(descriptors, name);
    const target = await readlink(path).catch(() => "");
    if (!target.endsWith(" (deleted)") || !target.startsWith(`${place}${sep}`)) continue;
    // Several descriptors may be of one file.
    if (!files.has(target)) files.set(target, await bytesOf(stat(path)));
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
}

async function bytesOf(found: Promise<Stats>, linked = new Set<number>()): Promise<number> {
  try {
    const { blocks, nlink, ino } = await found;
    if (nlink > 1 && linked.has(ino)) return 0;
    if (nlink > 1) linked.add(ino);
    return blocks * BLOCK_BYTES;
  } catch {
    return 0;
  }
}

/** Bytes of the file system of a folder that programs may still write; infinite if it does not say. */
export async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
