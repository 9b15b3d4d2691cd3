import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";

/** Of a new database: PGlite 0.4 writes 39 MB. */
const NEW_MEGABYTES = 40;
/** PostgreSQL may want three segments of its log, of 16 MiB each, when it starts. */
const START_BYTES = 48 * 2 ** 20;

/** PGlite throws errors of Emscripten's file system, which are no Error and carry WASI's numbers alone. */
const WASI_CODES: Readonly<Record<number, string>> = {
  2: "EACCES",
  19: "EDQUOT",
  22: "EFBIG",
  29: "EIO",
  33: "EMFILE",
  51: "ENOSPC",
  63: "EPERM",
  69: "EROFS",
};

/** A new database cannot be written. */
export function notMade(folder: string, cause: unknown): MucastError {
  const message =
    `the database cannot be made in ${folder}: ${causeOf(asError(cause))}; ` +
    `it takes ${NEW_MEGABYTES} MB, make room for it, or give another --data-dir`;
  return new MucastError("output_failed", message, { path: folder }, { cause });
}

/** One that is there cannot be opened: PGlite does not say whether that is for want of room. */
export function notOpened(folder: string, reason: string, cause?: unknown): MucastError {
  const free = freeBytes(folder);
  const room =
    free < START_BYTES
      ? `its disk has ${Math.floor(free / 2 ** 20)} MiB left, so make room first, and if that does not help `
      : "";
  const message = `the database in ${folder} cannot be opened: ${reason}; ${room}bring it back from a copy, or move it away to begin anew`;
  return new MucastError("unavailable", message, { path: folder }, { cause });
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(folder));
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function asError(cause: unknown): Error {
  if (cause instanceof Error) return cause;
  const errno = typeof cause === "object" && cause !== null && "errno" in cause ? Number(cause.errno) : 0;
  return Object.assign(new Error("PGlite cannot write it"), { code: WASI_CODES[errno] });
}
