import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";

/** Codes of errors that cost one ticker and not the job; with a joint network the ticker's error is the job's. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "fit_failed",
  "engine_crashed",
  "diverged",
  "constant_target",
]);

export function costsOneTicker(error: unknown): error is MucastError {
  return error instanceof MucastError && TICKER_CODES.has(error.code);
}
