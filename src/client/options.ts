import type { OperationStatus } from "../contract/api/operation-view.ts";
import type { BlobKind } from "../contract/api/prepared-blobs.ts";
import type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
import type { Compression, DateFormat, InputFormat } from "../contract/config/input-formats.ts";
import type { SubmittedOperation } from "../contract/config/job-operations.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /**
   * Chosen by the caller, one for each intended job: the same key and payload give the same operation. With a key, a request
   * whose answer is lost is sent again; without one it is an error.
   */
  readonly idempotencyKey?: string | undefined;
  /** Seconds, at most 60, that the answer may wait for the end of the job. */
  readonly wait?: number | undefined;
}

interface PageOptions extends CallOptions {
  /** 1 to 100 entries per page. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ListOptions extends PageOptions {
  readonly status?: OperationStatus | undefined;
  readonly operation?: SubmittedOperation | undefined;
  /** Operations that have all of these tags. */
  readonly tag?: readonly string[] | undefined;
}

export interface BlobListOptions extends PageOptions {
  readonly kind?: BlobKind | undefined;
}

export interface ForecastOptions extends CallOptions {
  /** At most 50. */
  readonly tickers?: readonly string[] | undefined;
  /** 1 to 50 tickers, the largest |mu| first; excludes `tickers`. */
  readonly limit?: number | undefined;
}

export interface PrepareOptions extends CallOptions {
  /** 1 to 64 letters, digits, `_` or `-`; part of the names of both blobs. */
  readonly id?: string | undefined;
  /** `YYYY-MM-DD`, like the others. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly learning_end?: string | undefined;
  readonly tickers?: readonly string[] | undefined;
  /** The security of a file without tickers. */
  readonly ticker?: string | undefined;
  readonly time_zone?: string | undefined;
  readonly date_format?: DateFormat | undefined;
  /** CSV or Parquet, with a row for each ticker and date. */
  readonly features?: Blob | undefined;
  /** Leaves out the features that the service computes. */
  readonly only_features?: boolean | undefined;
  readonly format?: InputFormat | undefined;
  readonly compression?: Compression | undefined;
  readonly float32?: boolean | undefined;
}

export interface BlobReadOptions extends CallOptions {
  /** As in RFC 9110, such as `bytes=-65536` for the last 64 KiB; the whole blob by default. */
  readonly range?: string | undefined;
}

export interface BlobWriteOptions extends CallOptions {
  /** Fail if a blob of this name exists. */
  readonly isNew?: boolean | undefined;
}

/** The job continues after an abort and a timeout. */
export interface RunOptions extends CallOptions {
  /** Milliseconds to wait in total; then a TimeoutError. */
  readonly timeout?: number | undefined;
  readonly onEvent?: ((event: StoredEvent | Snapshot) => void) | undefined;
}
