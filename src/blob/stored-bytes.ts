/** A blob's bytes as they are stored, before decompression. Read at most once, then closed. */
export interface StoredBytes {
  /** Bytes as stored, where the source tells. */
  readonly size: number | undefined;
  /** True where the server says that it compressed the bytes for the way (content-encoding). */
  readonly encoded: boolean;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Gives back the file or connection; harmless when repeated. */
  close(): Promise<void>;
}
