/** Limits of a file of prices or of features; one more is too_large. */
export interface FileLimits {
  /** Bytes, decompressed. A Parquet table may have as many values as a CSV of this size. */
  readonly csvBytes?: number;
  /** As many as a job accepts by default. */
  readonly tickers?: number;
}
