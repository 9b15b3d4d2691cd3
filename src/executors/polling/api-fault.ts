/**
 * How a call of a platform's API failed.
 *
 * - `missing`: what it asked for is not there (404).
 * - `throttled`: too many calls (429); `retryAfterMs` if the platform said for how long.
 * - `denied`: no credentials, or not the right ones (401, 403).
 * - `refused`: the platform understood and said no (other 4xx).
 * - `transient`: no answer, or a server error; the call may or may not have been carried out.
 */
export type FaultKind = "missing" | "throttled" | "denied" | "refused" | "transient";

/** A failed call. The message contains no secret. The client's error is dropped, because it includes the request with its body. */
export class ApiFault extends Error {
  readonly kind: FaultKind;
  /** Milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "ApiFault";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
