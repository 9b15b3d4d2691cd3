/** The limits of one transfer, and the retries of its requests. Sizes are bytes, times milliseconds. */
export interface TransferLimits {
  /** Bytes as stored, which means compressed if the blob is. */
  readonly maxStoredBytes: number;
  /** Bytes after decompression. */
  readonly maxBytes: number;
  /** Until a TLS connection is established. */
  readonly connectMs: number;
  /** Until the headers of an answer, and between two pieces of its body. */
  readonly idleMs: number;
  /** From opening to the end of the blob over https. */
  readonly totalMs: number;
  /** Attempts at one request before the blob counts as unavailable. */
  readonly attempts: number;
  /** Pause after the first failed attempt, in milliseconds; doubled after each further one, at most 16-fold. */
  readonly backoffMs: number;
  /** Length of one range request. */
  readonly rangeBytes: number;
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

export const DEFAULT_TRANSFER_LIMITS: TransferLimits = {
  maxStoredBytes: 16 * GIB,
  maxBytes: 16 * GIB,
  connectMs: 10_000,
  idleMs: 60_000,
  totalMs: 2 * 3_600_000,
  attempts: 5,
  backoffMs: 500,
  rangeBytes: 16 * MIB,
};
