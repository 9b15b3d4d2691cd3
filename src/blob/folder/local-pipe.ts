import { constants, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { canceled } from "../blob-errors.ts";
import type { StoredBytes } from "../store.ts";

/** Whether a path is a pipe that `openPipe` can open; on systems other than Linux, a pipe without a writer would read as empty. */
export async function isPipe(path: string): Promise<boolean> {
  return process.platform === "linux" && (await stat(path)).isFIFO();
}

/**
 * Opens a pipe without waiting for its writer, and reads it by polling: a read that blocks in a system call would keep the process alive
 * for as long as the writer is idle, even after an error.
 * @throws MucastError blob_unavailable and canceled, in the stream.
 */
export function openPipe(path: string, name: string, signal: AbortSignal | undefined): StoredBytes {
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
