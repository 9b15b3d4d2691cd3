import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../operations/operations.ts";

/**
 * Finds out who asks from the `Authorization` header of a request.
 *
 * @throws MucastError unauthorized where that does not say it; unavailable where it cannot be found out now.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** The subject of everyone where nobody has to say who they are, and of the commands on the same machine. */
export const LOCAL_SUBJECT = "local";

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const LONGEST_TOKEN = 8_192;

/** The token of an `Authorization: Bearer` header; undefined where the header is none. */
export function tokenIn(authorization: string | undefined): string | undefined {
  const token = BEARER.exec(authorization ?? "")?.[1];
  return token !== undefined && token.length <= LONGEST_TOKEN ? token : undefined;
}

/** The same, where there has to be one. @throws MucastError unauthorized, which tells no part of the header. */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("the request has no Authorization header");
  const token = tokenIn(authorization);
  if (token === undefined) throw unauthorized("the Authorization header is not `Bearer` and a token");
  return token;
}

export function unauthorized(message: string, options?: ErrorOptions): MucastError {
  return new MucastError("unauthorized", message, { path: "Authorization" }, options);
}
