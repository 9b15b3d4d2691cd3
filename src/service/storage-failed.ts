import { MucastError } from "../contract/errors/errors.ts";
import { causeOf, codeOf } from "../contract/errors/system-error.ts";

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/**
 * What a storage says of something that HTTP was asked for, in the words of that: a store speaks of outputs.
 * @returns any other error as it is.
 */
export function storageFailed(error: unknown, what: string): unknown {
  if (!(error instanceof MucastError) || error.code !== "output_failed") return error;
  const code = FULL.has(codeOf(error.cause) ?? "") ? "storage_full" : "storage_failed";
  const reason = error.cause === undefined ? error.message : causeOf(error.cause);
  return new MucastError(code, `${what}: ${reason}`, {}, { cause: error });
}
