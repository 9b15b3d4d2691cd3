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

/** Codes of what the rows to learn from leave impossible, the same on every machine. */
const ROW_CODES: ReadonlySet<string> = new Set<ErrorCode>(["constant_target", "insufficient_history"]);

/**
 * Whether the network of a later block failed by the rows that it learned from, so that the one before can stand in. A network that
 * trains and whose forecasts are not finite is no such case: which network forecasts a row must not depend on later rows of its block.
 */
export function isOfLearnedRows(error: {
  readonly code: string;
  readonly data?: MucastError["data"] | undefined;
}): boolean {
  const { code, data } = error;
  return ROW_CODES.has(code) || (code === "diverged" && data?.epoch !== undefined);
}
