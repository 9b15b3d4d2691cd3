import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MucastError } from "../contract/errors/errors.ts";
import { codeOf } from "../contract/errors/system-error.ts";

const MAGIC = [0x1f, 0x8b, 0x08];
const OUTPUT_CHUNK_BYTES = 2 ** 18;

/**
 * Decompresses if the first bytes are those of a gzip file (RFC 1952); otherwise passes the bytes on unchanged. No JSON text begins like
 * that. Several members in a row are one content, as for gzip(1).
 * @throws MucastError unreadable_blob, in the stream, for a gzip file that is cut, corrupt, or followed by other data.
 */
export async function* gunzipIfGzip(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const rest = chunks[Symbol.asyncIterator]();
  try {
    let head: Uint8Array = new Uint8Array(0);
    while (head.length < MAGIC.length) {
      const next = await rest.next();
      if (next.done) break;
      head = Buffer.concat([head, next.value]);
    }
    async function* rejoin() {
      try {
        if (head.length > 0) yield head;
        for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
      } finally {
        await rest.return?.();
      }
    }
    if (MAGIC.some((byte, i) => head[i] !== byte)) yield* rejoin();
    else {
      const decoder = createGunzip({ chunkSize: OUTPUT_CHUNK_BYTES });
      // No callback is needed: pipeline destroys the decoder with any error, and reading the decoder throws it.
      pipeline(Readable.from(rejoin()), decoder, () => undefined);
      yield* decoder as AsyncIterable<Buffer>;
    }
  } catch (error) {
    if (!codeOf(error)?.startsWith("Z_")) throw error;
    const message = `${name} is not a whole gzip file: ${(error as Error).message}`;
    throw new MucastError("unreadable_blob", message, { source: name });
  }
}
