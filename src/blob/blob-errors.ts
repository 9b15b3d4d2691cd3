import { MucastError } from "../contract/errors/errors.ts";

/** The error of reading or writing that was aborted: the signal's reason if that is a MucastError, else `canceled`. */
export function canceled(signal: AbortSignal, doing: "reading" | "writing", name: string): MucastError {
  if (signal.reason instanceof MucastError) return signal.reason;
  return new MucastError("canceled", `${doing} ${name} was cancelled`, { source: name });
}

/** @throws the error of `canceled`, if the signal is aborted. */
export function throwIfAborted(
  signal: AbortSignal | undefined,
  doing: "reading" | "writing",
  name: string,
): void {
  if (signal?.aborted) throw canceled(signal, doing, name);
}

export function nameTaken(path: string): MucastError {
  return new MucastError("output_failed", `${path} exists already, and outputs are never overwritten`, {
    path,
  });
}

export function outputFailed(path: string, reason: string, cause?: unknown): MucastError {
  return new MucastError("output_failed", `${path} could not be written: ${reason}`, { path }, { cause });
}

export function changed(name: string): MucastError {
  return new MucastError(
    "blob_unavailable",
    `${name} was changed while it was read; run again once nothing writes to it`,
    { source: name },
  );
}
