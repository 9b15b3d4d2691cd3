import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { MucastError } from "../contract/errors.ts";
import type { StoredBytes } from "./stored-bytes.ts";
import { causeOf, codeOf } from "./system-error.ts";

const CHUNK_BYTES = 2 ** 20;

/**
 * Opens a local file, whatever its name; also a pipe, whose size is unknown.
 * @throws MucastError blob_not_found where nothing, or a folder, is there; blob_unavailable without the right to
 * read it, and in the stream where the file changes while it is read.
 */
export async function openLocalFile(path: string, name: string): Promise<StoredBytes> {
  const handle = await open(path, "r").catch((error: unknown) => {
    throw unopened(name, error);
  });
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) {
      throw new MucastError("blob_not_found", `${name} is a folder, not a file`, { source: name });
    }
    return {
      size: stats.isFile() ? stats.size : undefined,
      encoded: false,
      chunks: readHandle(handle, name, stats.isFile() ? stats : undefined),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function unopened(name: string, error: unknown): MucastError {
  const code = codeOf(error);
  const missing = code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG";
  return new MucastError(
    missing ? "blob_not_found" : "blob_unavailable",
    `${name} cannot be opened: ${causeOf(error)}`,
    { source: name },
    { cause: error },
  );
}

interface FileState {
  readonly size: number;
  readonly mtimeMs: number;
}

/** Reads on while the chunk before is worked on. */
async function* readHandle(
  handle: FileHandle,
  name: string,
  before: FileState | undefined,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  let pending = readChunk(handle);
  try {
    for (;;) {
      const chunk = await pending;
      if (chunk.length === 0) break;
      total += chunk.length;
      pending = readChunk(handle);
      yield chunk;
    }
    if (before) await checkUnchanged(handle, name, before, total);
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("blob_unavailable", `${name} cannot be read: ${causeOf(error)}`, { source: name });
  } finally {
    await pending.catch(() => undefined);
    await handle.close();
  }
}

async function readChunk(handle: FileHandle): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
  return buffer.subarray(0, bytesRead);
}

async function checkUnchanged(handle: FileHandle, name: string, before: FileState, total: number) {
  const after = await handle.stat();
  if (after.size === before.size && after.mtimeMs === before.mtimeMs && total === before.size) return;
  throw new MucastError(
    "blob_unavailable",
    `${name} changed while it was read; run again once nothing writes to it`,
    { source: name },
  );
}
