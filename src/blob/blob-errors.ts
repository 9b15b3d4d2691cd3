import { MucastError } from "../contract/errors/errors.ts";

/** @throws the signal's reason if that is a MucastError, else `canceled`. */
export function throwIfAborted(
  signal: AbortSignal | undefined,
  doing: "reading" | "writing",
  name: string,
): void {
  if (!signal?.aborted) return;
  if (signal.reason instanceof MucastError) throw signal.reason;
  throw new MucastError("canceled", `${doing} ${name} was cancelled`, { source: name });
}

export function nameTaken(path: string): MucastError {
  const message = `${path} exists already, and outputs are never overwritten`;
  return new MucastError("output_failed", message, { path });
}

export function outputFailed(path: string, reason: string, cause?: unknown): MucastError {
  return new MucastError("output_failed", `${path} could not be written: ${reason}`, { path }, { cause });
}

export function changed(name: string): MucastError {
  const message = `${name} was changed while it was read; run again once nothing writes to it`;
  return new MucastError("blob_unavailable", message, { source: name });
}
