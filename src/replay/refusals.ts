import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";

/** Codes of jobs that this version or this machine does not run, or whose blobs are invalid. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_request",
  "unknown_model",
  "invalid_model_params",
  "too_large",
  "unreadable_blob",
  "invalid_data",
  "insufficient_history",
  "sparse_prices",
  "few_tickers",
  "all_failed",
  "no_forecast",
  "fit_failed",
  "device_unavailable",
  "diverged",
  "constant_target",
]);

const NOT_READABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["blob_not_found", "blob_unavailable"]);

/** Whether a job's error says that it could not read a blob. */
export function isUnread(error: unknown): error is MucastError {
  return error instanceof MucastError && NOT_READABLE.has(error.code);
}

/** Whether a job's error concerns its blobs, its config or the kind of machine, and not this replay. */
export function isRefusal(error: unknown): error is MucastError {
  return error instanceof MucastError && REFUSALS.has(error.code);
}
