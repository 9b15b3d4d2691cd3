import { ERROR_TABLE, type ErrorCode, type ErrorEntry } from "./error-codes.ts";

/** One fault of a payload: where it is, what is wrong, and the nearest right name where there is one. */
export interface Fault {
  /** JSON-path-like place, such as `config.ML params.n_splits`. */
  readonly path: string;
  readonly message: string;
  readonly suggestion?: string | undefined;
}

/** Structured facts beside the message. Nothing in here may hold a secret: problems are shown and logged. */
export interface ErrorData {
  /** Place inside the payload, or in the blob (ticker, key). */
  readonly path?: string | undefined;
  readonly value?: unknown;
  /** The blob or file the error speaks of, without query string. */
  readonly source?: string | undefined;
  /** Byte offset into the decompressed blob. */
  readonly offset?: number | undefined;
  readonly ticker?: string | undefined;
  readonly faults?: readonly Fault[] | undefined;
  readonly suggestion?: string | undefined;
  readonly accepted?: readonly string[] | undefined;
  readonly failures?: readonly { ticker: string; code: string; message: string }[] | undefined;
  readonly [key: string]: unknown;
}

/** The one error class. `message` names the place and the value; the table adds what to do. */
export class MucastError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;

  constructor(code: ErrorCode, message: string, data: ErrorData = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "MucastError";
    this.code = code;
    this.data = data;
  }

  get entry(): ErrorEntry {
    return ERROR_TABLE[this.code];
  }
}
