import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { changed } from "../blob-errors.ts";
import { withoutSignature } from "../policy.ts";
import type { ReadPart, StoredBytes } from "../store.ts";

const MISSING: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);

/** A file open for reading, and its state then. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/** Never waits for the writer of a pipe. @param flags in addition, such as O_NOFOLLOW. @throws the system's error. */
export async function openFile(path: string, flags = 0): Promise<OpenFile> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  return { handle, stats: await handle.stat({ bigint: true }) };
}

/** @throws MucastError blob_not_found if there is nothing or a folder; invalid_request for a pipe or device; else blob_unavailable. */
export async function openLocalFile(path: string, name: string): Promise<StoredBytes> {
  const file = await openFile(path).catch((error: unknown) => {
    const code = MISSING.has(codeOf(error)) ? "blob_not_found" : "blob_unavailable";
    const shown = withoutSignature(resolve(path));
    // Without the cause, which shows a signature in the path.
    throw new MucastError(code, `${shown} cannot be opened: ${causeOf(error)}`, { source: shown });
  });
  const { handle, stats } = file;
  if (stats.isFile()) return readWhole(file, name);
  await handle.close();
  if (stats.isDirectory()) {
    const advice = "Name a file in the folder.";
    throw new MucastError("blob_not_found", `${name} is a folder, not a file`, { source: name, advice });
  }
  const kind = stats.isFIFO() ? "pipe" : "device";
  const message = `${name} is a ${kind}, not a file; write its bytes to a file and name that`;
  throw new MucastError("invalid_request", message, { value: name });
}

export function readWhole(file: OpenFile, name: string): StoredBytes {
  const chunks = readFile(file, name);
  return { size: Number(file.stats.size), encoded: false, chunks, close: () => file.handle.close() };
}

/** Reads an open file, or a part of it, and closes it. @throws MucastError blob_unavailable, also if the file changes meanwhile. */
export async function* readFile(
  { handle, stats: before }: OpenFile,
  name: string,
  { start = 0, end = Number(before.size) }: Pick<ReadPart, "start" | "end"> = {},
  chunkBytes = 2 ** 20,
): AsyncGenerator<Uint8Array> {
  try {
    if (end > start) {
      const part = { start, end: end - 1, highWaterMark: chunkBytes, autoClose: false };
      yield* handle.createReadStream(part) as AsyncIterable<Uint8Array>;
    }
    const after = await handle.stat({ bigint: true });
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) throw changed(name);
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("blob_unavailable", `${name} cannot be read: ${causeOf(error)}`, { source: name });
  } finally {
    await handle.close();
  }
}
