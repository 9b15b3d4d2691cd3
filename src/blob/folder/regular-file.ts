import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** A path names something that is not a regular file. */
export class NotAFileError extends Error {
  readonly kind: string;

  constructor(kind: string) {
    super(`it is a ${kind}, not a file`);
    this.kind = kind;
  }
}

/**
 * Opens a regular file for reading. Never waits for the writer of a pipe.
 * @param flags in addition to those for reading, such as O_NOFOLLOW.
 * @throws NotAFileError for a folder, pipe, device or socket; the system's error.
 */
export async function openRegularFile(
  path: string,
  flags = 0,
): Promise<{ readonly handle: FileHandle; readonly stats: BigIntStats }> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags).catch((error) => {
    throw error.code === "ENXIO" ? new NotAFileError("socket") : error;
  });
  try {
    const stats = await handle.stat({ bigint: true });
    if (stats.isFile()) return { handle, stats };
    throw new NotAFileError(stats.isDirectory() ? "folder" : stats.isFIFO() ? "pipe" : "device");
  } catch (error) {
    await handle.close();
    throw error;
  }
}
