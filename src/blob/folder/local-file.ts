import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import type { StoredBytes } from "../store.ts";
import { NotAFileError, openRegularFile } from "./regular-file.ts";

const CHUNK_BYTES = 2 ** 20;

/**
 * Opens a local file of any name.
 * @throws MucastError blob_not_found if there is nothing or a folder; invalid_request for a pipe, device or socket; blob_unavailable without
 *   the right to read it, and in the stream if the file changes while it is read.
 */
export async function openLocalFile(path: string, name: string): Promise<StoredBytes> {
  const { handle, stats } = await openRegularFile(path).catch((error: unknown) => {
    throw unopened(name, error);
  });
  return {
    size: Number(stats.size),
    encoded: false,
    chunks: readHandle(handle, name, stateOf(stats)),
    close: () => handle.close(),
  };
}

const MISSING: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);

function unopened(name: string, error: unknown): MucastError {
  if (error instanceof NotAFileError) return notAFile(name, error);
  return new MucastError(
    MISSING.has(codeOf(error)) ? "blob_not_found" : "blob_unavailable",
    `${name} cannot be opened: ${causeOf(error)}`,
    { source: name },
    { cause: error },
  );
}

function notAFile(name: string, { kind }: NotAFileError): MucastError {
  const message = `${name} is a ${kind}, not a file`;
  const advice = "Name a file in the folder.";
  if (kind === "folder") return new MucastError("blob_not_found", message, { source: name, advice });
  return new MucastError("invalid_request", `${message}; write its bytes to a file and name that`, {
    value: name,
  });
}

/** The size and time of a file when it was opened. */
export interface FileState {
  readonly size: number;
  readonly mtimeNs: bigint;
}

export function stateOf({ size, mtimeNs }: BigIntStats): FileState {
  return { size: Number(size), mtimeNs };
}

/** The part of a file to read, and how. */
interface FilePart {
  readonly start?: number;
  /** Exclusive. */
  readonly end?: number;
  /** Bytes per chunk; fewer at the end. */
  readonly chunkBytes?: number;
  /** Whether to read the next chunk while the reader works on one; true by default. */
  readonly ahead?: boolean;
}

/**
 * Reads an open file, or a part of it; closes it.
 * @param before the state of the file, which must not change meanwhile.
 * @throws MucastError blob_unavailable.
 */
export async function* readHandle(
  handle: FileHandle,
  name: string,
  before: FileState,
  { start = 0, end = before.size, chunkBytes = CHUNK_BYTES, ahead = true }: FilePart = {},
): AsyncGenerator<Uint8Array> {
  let at = start;
  const next = () => readChunk(handle, Math.min(chunkBytes, end - at), at);
  let pending: Promise<Uint8Array> | undefined;
  try {
    for (;;) {
      const chunk = await (pending ?? next());
      if (chunk.length === 0) break;
      at += chunk.length;
      if (ahead) pending = next();
      yield chunk;
    }
    await checkUnchanged(handle, name, before, at === end);
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("blob_unavailable", `${name} cannot be read: ${causeOf(error)}`, { source: name });
  } finally {
    await pending?.catch(() => undefined);
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, length: number, at: number): Promise<Uint8Array> {
  if (length <= 0) return new Uint8Array(0);
  const buffer = Buffer.allocUnsafeSlow(length);
  const { bytesRead } = await handle.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function checkUnchanged(handle: FileHandle, name: string, before: FileState, whole: boolean) {
  const after = stateOf(await handle.stat({ bigint: true }));
  if (whole && after.size === before.size && after.mtimeNs === before.mtimeNs) return;
  throw new MucastError(
    "blob_unavailable",
    `${name} changed while it was read; run again once nothing writes to it`,
    { source: name },
  );
}
