import { MucastApiError } from "../client/index.ts";
import { ERROR_TABLE, type ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";

/** The error as the service has told it; a code that only a newer one knows becomes one that is as bad. */
export function asMucastError(error: unknown): unknown {
  if (error instanceof MucastApiError) {
    const { code, detail, type: _, title: __, ...data } = error.problem;
    const otherwise = error.status < 500 ? "invalid_request" : "unavailable";
    return new MucastError(isKnown(code) ? code : otherwise, detail, data);
  }
  if (!(error instanceof TypeError)) return error;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const reason = cause?.code ?? cause?.message ?? error.message;
  return new MucastError("unavailable", `the service does not answer (${reason})`, {}, { cause: error });
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code);
}
