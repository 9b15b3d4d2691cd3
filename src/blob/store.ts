import { MucastError } from "../contract/errors/errors.ts";
import { spaceIn } from "./names.ts";

/** A blob as it is stored. */
export interface StoredBlob {
  readonly size: number;
  /** A strong entity tag with its quotes: it identifies these exact bytes. */
  readonly etag: string;
}

export interface StoreWrite {
  readonly signal?: AbortSignal | undefined;
  /** Limit in bytes; one more is `too_large`, and nothing is stored. */
  readonly limit?: number | undefined;
}

/** A part of a blob, `end` exclusive; by default all of it. */
export interface ReadPart {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The storage of all blobs of a service: a folder, an Azure container or a bucket of S3. Keys are `data/<name>` and `status/<name>`. Every
 * method throws MucastError blob_unavailable (reading) or output_failed (writing) if the storage fails after retries.
 */
export interface BlobStore {
  /** The prefix of `/data/<name>` in the URL of an output; contains no secret. */
  readonly url: string;
  /** Undefined if there is none. */
  stat(key: string): Promise<StoredBlob | undefined>;
  /** All bytes are of one version. @throws MucastError blob_not_found; blob_unavailable if it no longer has `etag`. */
  read(key: string, part?: ReadPart): AsyncIterable<Uint8Array>;
  /** Writes or replaces a blob, completely or not at all. @throws MucastError too_large. */
  put(key: string, content: Content, options?: StoreWrite): Promise<{ created: boolean; etag: string }>;
  /** Writes a new blob, completely or not at all. @throws MucastError output_failed if it exists. */
  create(key: string, content: Content, options?: StoreWrite): Promise<{ etag: string }>;
  /** Harmless if there is none. */
  remove(key: string): Promise<void>;
  /** The part of the store that is one caller's space, see names.ts; closed with the whole store, not by itself. */
  within(space: string): BlobStore;
  close(): Promise<void>;
}

/** A blob as a list of the whole storage shows it. */
export interface ListedBlob {
  /** The space that it is in; empty for the storage itself. */
  readonly space: string;
  /** Within the space. */
  readonly key: string;
  readonly size: number;
  readonly modifiedAt: Date;
}

/** A store as a process opens it by itself: a job, or a command of the operator. */
export interface JobStore extends BlobStore {
  /** Every blob of the storage and of all spaces in it, in any order, without staged files. */
  list(): AsyncIterable<ListedBlob>;
  /** @throws MucastError blob_not_found, blob_unavailable. */
  open(key: string, signal?: AbortSignal): Promise<StoredBytes>;
  /** Checks early, before hours of training, that the storage exists and the name is free. @throws MucastError output_failed. */
  checkNew(key: string): Promise<void>;
}

const KEY = /^(?:data|status)\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;

/** @throws MucastError internal for a key that no store has. */
export function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new MucastError("internal", `${JSON.stringify(key.slice(0, 100))} is not the key of a blob`);
}

/** Reads a path relative to the storage, such as `key-…/data/<name>`; undefined for one that no blob has. */
export function placeOf(path: string): { readonly space: string; readonly key: string } | undefined {
  const space = spaceIn(path) ?? "";
  const key = space === "" ? path : path.slice(space.length + 1);
  return KEY.test(key) ? { space, key } : undefined;
}

/** A blob's bytes as they are stored, before decompression. Read at most once, then closed. */
export interface StoredBytes {
  /** Bytes as stored; undefined if the source does not report it. */
  readonly size: number | undefined;
  /** True if the server compressed the bytes for the transfer (content-encoding). */
  readonly encoded: boolean;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Closes the file or connection; harmless when repeated. */
  close(): Promise<void>;
}

/** Text is written as UTF-8. */
type Piece = Uint8Array | string;
/** The content to write, whole or in pieces. */
export type Content = Piece | AsyncIterable<Piece> | Iterable<Piece>;

/**
 * The bytes of `content` in blocks of `size` bytes, the last one possibly smaller; none for empty content.
 * @param options.name of the blob in errors.
 * @param options.limit in bytes; more are too_large.
 */
export async function* splitBlocks(
  content: Content,
  options: { size: number; name: string; limit?: number | undefined },
): AsyncGenerator<Uint8Array> {
  const { size, name, limit = Number.POSITIVE_INFINITY } = options;
  const isWhole = typeof content === "string" || content instanceof Uint8Array;
  let held: Uint8Array[] = [];
  let [bytes, total] = [0, 0];
  for await (const piece of isWhole ? [content] : content) {
    const added = typeof piece === "string" ? Buffer.from(piece) : piece;
    total += added.length;
    if (total > limit) {
      const message = `${name} would hold more than the limit of ${limit} bytes`;
      throw new MucastError("too_large", message, { source: name, limit });
    }
    held.push(added);
    bytes += added.length;
    if (bytes < size) continue;
    const joined = Buffer.concat(held);
    const whole = bytes - (bytes % size);
    for (let at = 0; at < whole; at += size) yield joined.subarray(at, at + size);
    held = [joined.subarray(whole)];
    bytes -= whole;
  }
  if (bytes > 0) yield Buffer.concat(held);
}
