import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "./caller.ts";

/**
 * Identifies the caller by the `Authorization` header of a request.
 * @throws MucastError unauthorized for a header that authenticates no caller; unavailable if the database or the issuer that has to
 * check it cannot be reached.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** The subject of every caller without authentication, and of the commands on the service's own machine. */
export const LOCAL_SUBJECT = "local";

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const MAX_TOKEN_LENGTH = 8_192;

/** The token of an `Authorization: Bearer` header; undefined for any other header. */
export function tokenIn(authorization: string | undefined): string | undefined {
  const token = BEARER.exec(authorization ?? "")?.[1];
  return token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
}

/** The token of an `Authorization: Bearer` header. @throws MucastError unauthorized, whose message has no part of the header. */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("the request has no Authorization header");
  const token = tokenIn(authorization);
  if (token === undefined) throw unauthorized("the Authorization header is not `Bearer` and a token");
  return token;
}

export function unauthorized(message: string, options?: ErrorOptions): MucastError {
  return new MucastError("unauthorized", message, { path: "Authorization" }, options);
}

/** Whether a request counts as a failed try: its token is wrong, or cannot be checked now. */
export function isFailedTry(error: unknown): boolean {
  return error instanceof MucastError && error.data.path === "Authorization";
}
