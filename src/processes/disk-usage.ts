import type { Stats } from "node:fs";
import { lstat, opendir, readdir, readlink, realpath, stat, statfs } from "node:fs/promises";
import { join, sep } from "node:path";

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

/** Bytes on disk of the files without a name, formerly under `folder`, that a process has open; 0 without /proc (macOS). */
export async function namelessBytes(pid: number, folder: string): Promise<number> {
  const descriptors = `/proc/${pid}/fd`;
  const place = await realpath(folder).catch(() => folder);
  const names = await readdir(descriptors).catch(() => []);
  const files = new Map<string, number>();
  for (const name of names) {
    const path = join(descriptors, name);
    const target = await readlink(path).catch(() => "");
    if (!target.endsWith(" (deleted)") || !target.startsWith(`${place}${sep}`)) continue;
    // Several descriptors may be of one file.
    if (!files.has(target)) files.set(target, await bytesOf(stat(path)));
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Bytes of the file system of a folder that programs may still write; undefined if it does not say. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

async function bytesOf(found: Promise<Stats>, linked?: Set<number>): Promise<number> {
  try {
    const { blocks, nlink, ino } = await found;
    if (nlink > 1 && linked?.has(ino)) return 0;
    if (nlink > 1) linked?.add(ino);
    return blocks * BLOCK_BYTES;
  } catch {
    return 0;
  }
}
