import { type FileHandle, open } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { ByteWindow } from "../ingest/json/byte-window.ts";
import { JsonReader, Token } from "../ingest/json/json-reader.ts";

/**
 * Writes a JSON document to a file without the white space between its tokens.
 * @throws MucastError unreadable_blob where the bytes are no JSON object; output_failed where the work folder is full; what the
 *   source throws.
 */
export async function writeCompact({ name, chunks }: ByteSource, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch(notWritten);
  const window = new ByteWindow({ name, chunks: written(chunks, file) });
  try {
    await requireObject(new JsonReader(window), window);
  } finally {
    await window.close();
    await file.close();
  }
}

async function* written(chunks: AsyncIterable<Uint8Array>, file: FileHandle): AsyncGenerator<Uint8Array> {
  const compactor = new Compactor();
  for await (const chunk of chunks) {
    await file.writeFile(compactor.take(chunk)).catch(notWritten);
    yield chunk;
  }
}

async function requireObject(reader: JsonReader, window: ByteWindow): Promise<void> {
  let token = reader.next();
  for (; token === Token.more; token = reader.next()) await window.refill();
  if (token !== Token.objectStart) {
    const message = `${window.source} is not an output of a job: it is not a JSON object`;
    throw new MucastError("unreadable_blob", message, { source: window.source, offset: reader.offset });
  }
  while (!reader.skipTo(0)) await window.refill();
  while (reader.next() !== Token.end) await window.refill();
}

function notWritten(cause: unknown): never {
  throw workFolderError("written", cause);
}

/** Drops the white space between the tokens of a JSON text that comes in chunks. */
class Compactor {
  #inText = false;
  #escaped = false;

  take(chunk: Uint8Array): Uint8Array {
    const kept = Buffer.allocUnsafeSlow(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === 92) this.#escaped = true;
        else if (byte === 34) this.#inText = false;
      } else if (byte === 32 || byte === 10 || byte === 13 || byte === 9) continue;
      else if (byte === 34) this.#inText = true;
      kept[length++] = byte;
    }
    return kept.subarray(0, length);
  }
}
