import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MucastError } from "../contract/errors/errors.ts";

const MAGIC = [0x1f, 0x8b, 0x08];
const OUTPUT_CHUNK_BYTES = 2 ** 18;

/**
 * Decompresses if the first bytes are those of a gzip file (RFC 1952); otherwise passes the bytes on unchanged. No JSON text begins like
 * that. Several members in a row are one content, as for gzip(1).
 * @throws MucastError unreadable_blob, in the stream, for a gzip file that is cut, corrupt, or followed by
 * anything else.
 */
export async function* withoutGzip(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const head = await takeAtLeast(iterator, MAGIC.length);
  const whole = rejoin(head, iterator);
  yield* MAGIC.every((byte, i) => head[i] === byte) ? gunzip(whole, name) : whole;
}

/** The first `count` bytes or more; fewer only if there are no more. */
async function takeAtLeast(iterator: AsyncIterator<Uint8Array>, count: number): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.length < count) {
    const next = await iterator.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  return head;
}

async function* rejoin(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* gunzip(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const fed = { bytes: 0 };
  const decoder = createGunzip({ chunkSize: OUTPUT_CHUNK_BYTES });
  // No callback is needed: pipeline destroys the decoder with any error, and reading the decoder throws it.
  pipeline(Readable.from(counted(chunks, fed)), decoder, () => undefined);
  let inputBytes = 0;
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      inputBytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (error instanceof MucastError || !isZlibError(error)) throw error;
    throw broken(name, error.message, decoder.bytesWritten, inputBytes);
  }
  // zlib stops silently at zero bytes after the last member; it reports anything else there as a bad header.
  if (decoder.bytesWritten < fed.bytes) {
    throw broken(name, "other bytes follow its end", decoder.bytesWritten, inputBytes);
  }
}

async function* counted(chunks: AsyncIterable<Uint8Array>, fed: { bytes: number }) {
  for await (const chunk of chunks) {
    fed.bytes += chunk.length;
    yield chunk;
  }
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}

function broken(name: string, reason: string, storedOffset: number, offset: number): MucastError {
  return new MucastError(
    "unreadable_blob",
    `${name} is not a whole gzip file: ${reason} (past ${storedOffset} compressed, ${offset} decompressed bytes)`,
    { source: name, offset, storedOffset },
  );
}
