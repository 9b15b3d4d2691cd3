import { MucastError } from "../contract/errors/errors.ts";

/** The error of what was stopped: the signal's reason where that is a MucastError, else `canceled`. */
export function canceled(signal: AbortSignal, doing: "reading" | "writing", name: string): MucastError {
  if (signal.reason instanceof MucastError) return signal.reason;
  return new MucastError("canceled", `${doing} ${name} was cancelled`, { source: name });
}

/** @throws the error of what was stopped, where it was. */
export function throwIfAborted(
  signal: AbortSignal | undefined,
  doing: "reading" | "writing",
  name: string,
): void {
  if (signal?.aborted) throw canceled(signal, doing, name);
}
