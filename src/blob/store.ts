import type { Content } from "./staged-file.ts";

/** A blob as it is stored. */
export interface StoredBlob {
  readonly size: number;
  /** Strong: it stands for these exact bytes. With its quotes. */
  readonly etag: string;
}

export interface StoreWrite {
  readonly signal?: AbortSignal | undefined;
  /** Bytes; one more is `too_large`, and nothing is left. */
  readonly limit?: number | undefined;
}

/**
 * The place of all blobs of a service, a folder or an Azure container. Keys are `data/<name>` and `status/<name>`.
 * Every method throws MucastError blob_unavailable (reading) or output_failed (writing) where the storage fails
 * after retries.
 */
export interface BlobStore {
  /** What comes before `/data/<name>` in the URL of an output; no secret in it. */
  readonly url: string;
  /** Undefined where there is none. */
  stat(key: string): Promise<StoredBlob | undefined>;
  /**
   * The bytes of a blob, or of a part of it (`end` exclusive), all of one version.
   * @throws MucastError blob_not_found; blob_unavailable where it is no longer that of `etag`.
   */
  read(
    key: string,
    part?: { start?: number; end?: number; etag?: string; signal?: AbortSignal },
  ): AsyncIterable<Uint8Array>;
  /** Writes or replaces, whole or not at all. @throws MucastError too_large. */
  put(key: string, content: Content, options?: StoreWrite): Promise<{ created: boolean; etag: string }>;
  /** Writes a new one, whole or not at all. @throws MucastError output_failed where it exists. */
  create(key: string, content: Content, options?: StoreWrite): Promise<{ etag: string }>;
  /** Harmless where there is none. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}
