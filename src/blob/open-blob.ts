import { createHash } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MucastError } from "../contract/errors/errors.ts";
import { codeOf } from "../contract/errors/system-error.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { throwIfAborted } from "./blob-errors.ts";
import { FolderStore } from "./folder/folder-store.ts";
import { openLocalFile } from "./folder/local-file.ts";
import { type BlobLocation, type BlobNames, locationOf } from "./location.ts";
import { openStore } from "./open-store.ts";
import { type BlobPolicy, DEFAULT_TRANSFER_LIMITS, isS3Url, type TransferLimits } from "./policy.ts";
import { openRemoteBlob } from "./remote/remote-blob.ts";
import type { StoredBytes } from "./store.ts";

/** An opened blob. Its stream can be read once; reading to the end, or stopping early, closes it. */
export interface Blob extends ByteSource {
  /** Bytes as stored (before decompression); undefined if the source does not report it. */
  readonly size: number | undefined;
  /** SHA-256, hexadecimal, of the bytes as stored. Available only after the stream was read to its end. */
  digest(): string;
  /** Closes a blob that is not read after all. */
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly signal?: AbortSignal;
  readonly limits?: Partial<TransferLimits>;
  /** PEM certificates to trust instead of the system's, for https. */
  readonly ca?: string;
  /** BLOB_URL as the job got it, perhaps with its SAS; for inputs in that container. */
  readonly blobUrl?: string | undefined;
  /** Which blobs a URL may name; inputs by default. */
  readonly names?: BlobNames;
}

/**
 * Opens an input blob, or with `names` an output: a path, a file: URL, or a URL that the policy allows. gzip content is decompressed. Only
 * the first answer or the file's state is read before `chunks` is.
 * @throws MucastError url_not_allowed, blob_not_found, blob_unavailable, too_large, canceled; the stream also throws the last three, and
 *   unreadable_blob for broken gzip.
 */
export async function openBlob(
  location: string,
  policy: BlobPolicy,
  { signal, limits: given, names, ...options }: OpenOptions = {},
): Promise<Blob> {
  const limits = { ...DEFAULT_TRANSFER_LIMITS, ...given };
  const parsed = locationOf(location, policy, names);
  const { name } = parsed;
  throwIfAborted(signal, "reading", name);
  const stored = await openLocation(parsed, policy, { ...options, limits, ...(signal && { signal }) });
  if (stored.size !== undefined && stored.size > limits.maxStoredBytes) {
    await stored.close();
    throw tooLarge(name, "stored", limits.maxStoredBytes);
  }
  const hash = createHash("sha256");
  let digest: string | undefined;
  async function* read(): AsyncGenerator<Uint8Array> {
    let bytes = limit(stored.chunks, limits.maxStoredBytes, "stored", name, (chunk) => {
      throwIfAborted(signal, "reading", name);
      hash.update(chunk);
    });
    // A server may compress a file for the transfer that already is gzip.
    for (let layer = 0; layer < (stored.encoded ? 2 : 1); layer++) {
      bytes = limit(gunzipIfGzip(bytes, name), limits.maxBytes, "decompressed", name);
    }
    yield* bytes;
    digest = hash.digest("hex");
  }
  return {
    name,
    size: stored.size,
    chunks: { [Symbol.asyncIterator]: read },
    digest() {
      if (digest === undefined) throw new MucastError("internal", `${name} has not been read to its end`);
      return digest;
    },
    close: () => stored.close(),
  };
}

async function openLocation(
  location: BlobLocation,
  policy: BlobPolicy,
  { blobUrl, ...options }: OpenOptions & { limits: TransferLimits },
): Promise<StoredBytes> {
  switch (location.kind) {
    case "file":
      return openLocalFile(location.path, location.name);
    case "remote":
      return openRemoteBlob(location.url, location.name, { ...options, addresses: location.addresses });
    case "mapped":
      return new FolderStore(location.folder, location.base).open(location.key);
    case "container": {
      const sas = isS3Url(location.container) ? undefined : blobUrl?.split("?")[1];
      const url = sas === undefined ? location.container : `${location.container}?${sas}`;
      const store = await openStore(url, { policy, ...options });
      return store.open(location.key, options.signal);
    }
  }
}

async function* limit(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
  what: string,
  name: string,
  observe?: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    observe?.(chunk);
    total += chunk.length;
    if (total > most) throw tooLarge(name, what, most);
    yield chunk;
  }
}

function tooLarge(name: string, what: string, limit: number): MucastError {
  const message = `${name} holds more than the limit of ${limit} ${what} bytes`;
  return new MucastError("too_large", message, { source: name, limit });
}

const GZIP_MAGIC = [0x1f, 0x8b, 0x08];
const OUTPUT_CHUNK_BYTES = 2 ** 18;

/**
 * Decompresses if the first bytes are those of a gzip file (RFC 1952); otherwise passes the bytes on unchanged. No JSON text begins like
 * that. Several members in a row are one content, as for gzip(1).
 * @throws MucastError unreadable_blob, in the stream, for a gzip file that is cut, corrupt, or followed by other data.
 */
async function* gunzipIfGzip(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const rest = chunks[Symbol.asyncIterator]();
  try {
    let head: Uint8Array = new Uint8Array(0);
    while (head.length < GZIP_MAGIC.length) {
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
    if (GZIP_MAGIC.some((byte, i) => head[i] !== byte)) yield* rejoin();
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
