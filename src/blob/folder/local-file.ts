import { type BigIntStats, constants, openSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { Socket } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { canceled } from "../blob-errors.ts";
import type { StoredBytes } from "../store.ts";

const CHUNK_BYTES = 2 ** 20;

/**
 * Opens a local file of any name, or a pipe, whose size is unknown.
 * @throws MucastError blob_not_found if there is nothing or a folder; blob_unavailable without the right to read it, and in the stream if
 *   the file changes while it is read; canceled at once if `signal` aborts, even while the system does not answer.
 */
export async function openLocalFile(path: string, name: string, signal?: AbortSignal): Promise<StoredBytes> {
  const opened = openAny(path, name, signal).catch((error: unknown) => {
    throw unopened(name, error);
  });
  const found = await unlessAborted(opened, name, signal).catch((error: unknown) => {
    opened.then(close, () => undefined);
    throw error;
  });
  if ("chunks" in found) return found;
  const handle = found;
  const closed = () => (signal?.aborted ? close(handle) : handle.close());
  try {
    const stats = await handle.stat({ bigint: true });
    if (stats.isDirectory()) {
      throw new MucastError("blob_not_found", `${name} is a folder, not a file`, { source: name });
    }
    return {
      size: stats.isFile() ? Number(stats.size) : undefined,
      encoded: false,
      chunks: readHandle(handle, name, stats.isFile() ? stateOf(stats) : undefined, { signal }),
      close: async () => closed(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openAny(path: string, name: string, signal: AbortSignal | undefined) {
  return (await isPipe(path)) ? openPipe(path, name, signal) : open(path, "r");
}

/**
 * The result of a system call, or `canceled` as soon as the signal aborts: a system call cannot be withdrawn, and an unreachable file
 * server holds it forever.
 */
async function unlessAborted<T>(
  action: Promise<T>,
  name: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return action;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(canceled(signal, "reading", name));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([action, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Closes a file once nothing reads it any more, without waiting for that. */
function close(handle: Pick<FileHandle, "close">): void {
  handle.close().catch(() => undefined);
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
  /** Ends the reading at once, with `canceled`, even while the system does not answer. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads an open file, or a part of it; closes it.
 * @param before of a regular file, which must not change meanwhile.
 * @throws MucastError blob_unavailable, canceled.
 */
export async function* readHandle(
  handle: FileHandle,
  name: string,
  before: FileState | undefined,
  { start, end, chunkBytes = CHUNK_BYTES, ahead = true, signal }: FilePart = {},
): AsyncGenerator<Uint8Array> {
  let at = start ?? 0;
  const next = () => {
    const length = Math.min(chunkBytes, (end ?? Number.POSITIVE_INFINITY) - at);
    // A pipe has no positions.
    return readChunk(handle, length, start === undefined ? null : at);
  };
  let pending: Promise<Uint8Array> | undefined;
  try {
    for (;;) {
      const chunk = await unlessAborted(pending ?? next(), name, signal);
      if (chunk.length === 0) break;
      at += chunk.length;
      if (ahead) pending = next();
      yield chunk;
    }
    if (before) await checkUnchanged(handle, name, before, at === (end ?? before.size));
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("blob_unavailable", `${name} cannot be read: ${causeOf(error)}`, { source: name });
  } finally {
    const ended = pending?.catch(() => undefined);
    if (signal?.aborted) close(handle);
    else {
      await ended;
      await handle.close();
    }
  }
}

async function readChunk(handle: FileHandle, length: number, at: number | null): Promise<Uint8Array> {
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

/** Whether a path is a pipe that `openPipe` can open; on systems other than Linux, a pipe without a writer would read as empty. */
async function isPipe(path: string): Promise<boolean> {
  return process.platform === "linux" && (await stat(path)).isFIFO();
}

/**
 * Opens a pipe without waiting for its writer, and reads it by polling: a read that blocks in a system call would keep the process alive
 * for as long as the writer is idle, even after an error.
 * @throws MucastError blob_unavailable and canceled, in the stream.
 */
function openPipe(path: string, name: string, signal: AbortSignal | undefined): StoredBytes {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const socket = new Socket({ fd, readable: true, writable: false });
  // The stream throws it.
  socket.on("error", () => undefined);
  return {
    size: undefined,
    encoded: false,
    chunks: readPipe(socket, name, signal),
    close: async () => {
      socket.destroy();
    },
  };
}

async function* readPipe(
  socket: Socket,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const abort = () => socket.destroy(canceled(signal!, "reading", name));
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  try {
    yield* socket as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (error instanceof MucastError) throw error;
    throw new MucastError("blob_unavailable", `${name} cannot be read: ${causeOf(error)}`, { source: name });
  } finally {
    signal?.removeEventListener("abort", abort);
    socket.destroy();
  }
}
