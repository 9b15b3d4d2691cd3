import { ERROR_TABLE, type ErrorCode, type ErrorEntry } from "./error-codes.ts";

export interface Fault {
  readonly path: string;
  readonly message: string;
  readonly suggestion?: string | undefined;
}

export function fault(path: string, message: string, suggestion?: string): Fault {
  return suggestion === undefined ? { path, message } : { path, message, suggestion };
}

/** Structured facts that accompany the message. They may hold no secret, because problems are displayed and logged. */
export interface ErrorData {
  /** Path inside the payload, or inside the blob (ticker, key). */
  readonly path?: string | undefined;
  readonly value?: unknown;
  /** The blob or file at fault; a URL without its query string. */
  readonly source?: string | undefined;
  /** Byte offset into the decompressed blob. */
  readonly offset?: number | undefined;
  readonly ticker?: string | undefined;
  readonly faults?: readonly Fault[] | undefined;
  readonly suggestion?: string | undefined;
  /** In place of the title and the advice of the code. */
  readonly title?: string | undefined;
  readonly advice?: string | undefined;
  readonly accepted?: readonly string[] | undefined;
  readonly failures?: readonly { ticker: string; code: string; message: string }[] | undefined;
  readonly [key: string]: unknown;
}

/** The only error class. `message` names what is at fault and its value; ERROR_TABLE adds the advice. */
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
