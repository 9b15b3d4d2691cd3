import type { ZoneCalendar } from "../ingest/date-text.ts";

/** Limits of a file of prices or of features, and how it is read. One more than a limit is too_large. */
export interface FileLimits {
  /** Of the times of day; without it they have no date. */
  readonly zone?: ZoneCalendar | undefined;
  /** Bytes, decompressed. A Parquet table may have as many values as a CSV of this size. */
  readonly csvBytes?: number;
  /** As many as a job accepts by default. */
  readonly tickers?: number;
  /** The name of the security, if the file of prices does not name it. */
  readonly ticker?: string | undefined;
  /** Called with the number of bytes of each part that was read, decompressed. */
  readonly onBytes?: ((count: number) => void) | undefined;
}
