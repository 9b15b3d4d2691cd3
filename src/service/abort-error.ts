import { MucastError } from "../contract/errors/errors.ts";

/** The error of requests that a closing service ends or refuses. */
export function aboutToEnd(): MucastError {
  return new MucastError("unavailable", "the service is about to end", { retryAfter: 10 });
}

/** The error of a request whose caller has left, or whose service closes: the signal's reason if that is a MucastError. */
export function abortError({ reason }: AbortSignal, what: string): MucastError {
  return reason instanceof MucastError
    ? reason
    : new MucastError("canceled", `the request to ${what} was aborted`);
}
