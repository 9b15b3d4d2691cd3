import { createHash } from "node:crypto";
import { setTimeout as pauseFor } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import {
  type Authenticate,
  isFailedTry,
  LOCAL_SUBJECT,
  tokenIn,
  unauthorized,
} from "../../auth/authenticate.ts";
import type { Caller } from "../../auth/caller.ts";
import { inScope, type RequestScope } from "../../request-scope.ts";
import { addressKey } from "../server/address-key.ts";
import { connectionClosed } from "../server/request-abort.ts";
import type { OpenAnswers, TokenBuckets } from "./caller-limits.ts";

interface Authorization {
  readonly authenticate: Authenticate;
  /** Requests of a caller, or of an address without a valid token. */
  readonly rates: TokenBuckets;
  /** Unknown tokens from an address that were wrong or could not be checked. */
  readonly failedTries: TokenBuckets;
  /** Refusals that a caller, or an address, gets without delay. */
  readonly refusals: TokenBuckets;
  readonly known: KnownTokens;
  readonly open: OpenAnswers;
}

/** As long as the shortest `Retry-After`. */
const HELD_MILLISECONDS = 1_000;

/**
 * Identifies the caller, counts the request, and checks that the caller has the scope of the route.
 *
 * An authenticated caller's requests count for that caller and not for the address, so that callers behind one proxy do not use up
 * each other's rate.
 *
 * @throws MucastError unauthorized, forbidden, rate_limited, unavailable.
 */
export async function authorizeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  authorization: Authorization,
): Promise<void> {
  const { rates, open } = authorization;
  const { access = "admin", isUncounted } = request.routeOptions.config;
  if (access === "anyone") {
    if (isUncounted) return;
    count(rates, addressKey(request.ip));
    open.begin(laneOf(undefined, request.ip), reply.raw);
    return;
  }
  const caller = await authenticated(request, reply, authorization).catch(async (error: unknown) => {
    await delayRefusal(error, request, reply, authorization);
    throw error;
  });
  request.caller = caller;
  open.begin(caller.subject, reply.raw);
  if (caller.scopes.has(access)) return;
  const held = [...caller.scopes].join(", ") || "none";
  throw new MucastError("forbidden", `this needs the scope ${access}; the credentials have: ${held}`, {
    scope: access,
  });
}

/**
 * Delays a refusal to a caller with many refusals: a caller that sends the next request immediately would keep the event loop busy
 * with refusals.
 */
async function delayRefusal(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { refusals, known }: Authorization,
): Promise<void> {
  if (!(error instanceof MucastError) || error.code !== "rate_limited") return;
  const token = tokenIn(request.headers.authorization);
  const subject = token === undefined ? undefined : known.subjectOf(token);
  if (refusals.take(laneOf(subject, request.ip)) === 0) return;
  // The connection may close meanwhile; then the refusal has no reader.
  await pauseFor(HELD_MILLISECONDS, undefined, { signal: connectionClosed(reply) }).catch(() => undefined);
}

/**
 * The scope of the work of a request, after its caller is known. A blob is written or removed in several steps, which run to their
 * end, so that nothing stays half done. Other requests end with their callers.
 */
export function scopeOf(request: FastifyRequest, reply: FastifyReply): RequestScope {
  const { caller, ip, method, routeOptions } = request;
  if (caller === undefined) return { lane: laneOf(undefined, ip), signal: undefined };
  const isWhole = routeOptions.config.isStreamed || method === "DELETE";
  return { lane: laneOf(caller.subject, ip), signal: isWhole ? undefined : connectionClosed(reply) };
}

/** The caller, or the address of an unknown caller. */
function laneOf(subject: string | undefined, address: string): string {
  return subject === undefined ? `address ${addressKey(address)}` : callerKey(subject);
}

/**
 * The caller, whose request is counted.
 *
 * A check costs a database query or a signature verification, so it is counted before it runs: that of a known token as a request of
 * its caller, that of any other token as a try of the address.
 */
async function authenticated(
  request: FastifyRequest,
  reply: FastifyReply,
  authorization: Authorization,
): Promise<Caller> {
  checkOneHeader(request, authorization.rates);
  const { authorization: header } = request.headers;
  const token = tokenIn(header);
  const subject = token === undefined ? undefined : authorization.known.subjectOf(token);
  const lane = laneOf(subject, request.ip);
  return inScope({ lane, signal: connectionClosed(reply) }, () =>
    token !== undefined && subject === undefined
      ? firstSeen(request, token, authorization)
      : checked(request, token, subject, authorization),
  );
}

/** @param token undefined if the request has none. @param subject the caller for whom the token was valid before. */
async function checked(
  request: FastifyRequest,
  token: string | undefined,
  subject: string | undefined,
  { authenticate, rates, known }: Authorization,
): Promise<Caller> {
  const { authorization: header } = request.headers;
  if (subject !== undefined) count(rates, callerKey(subject));
  const caller = await authenticate(header).catch((error: unknown) => {
    if (token === undefined) count(rates, addressKey(request.ip));
    else if (isUnauthorized(error)) known.remove(token);
    throw error;
  });
  if (subject === undefined) count(rates, callerKey(caller.subject));
  else known.add(token!, caller.subject);
  return caller;
}

/**
 * Refuses a request with several Authorization headers: Node keeps the first, and a proxy in front may have checked another.
 *
 * @throws MucastError unauthorized.
 */
function checkOneHeader({ raw, ip }: FastifyRequest, rates: TokenBuckets): void {
  if ((raw.headersDistinct.authorization?.length ?? 0) <= 1) return;
  count(rates, addressKey(ip));
  throw unauthorized("the request has more than one Authorization header");
}

/** Takes a try of the address before the check, and refunds it unless the token fails. */
async function firstSeen(
  request: FastifyRequest,
  token: string,
  { authenticate, rates, failedTries, known }: Authorization,
): Promise<Caller> {
  const address = addressKey(request.ip);
  count(failedTries, address, "too many wrong keys or tokens from this address");
  const caller = await authenticate(request.headers.authorization).catch((error: unknown) => {
    if (!isFailedTry(error)) failedTries.refund(address);
    throw error;
  });
  failedTries.refund(address);
  known.add(token, caller.subject);
  count(rates, callerKey(caller.subject));
  return caller;
}

function callerKey(subject: string): string {
  return `caller ${subject}`;
}

/** Whether the token is wrong. Otherwise the database or the issuer was unreachable. */
function isUnauthorized(error: unknown): boolean {
  return error instanceof MucastError && error.code === "unauthorized";
}

function count(buckets: TokenBuckets, key: string, what = "too many requests"): void {
  const retryAfter = buckets.take(key);
  if (retryAfter === 0) return;
  throw new MucastError("rate_limited", `${what}; there is room again in ${retryAfter} s`, {
    retryAfter,
  });
}

/** A new token replaces the one that was valid longest ago. */
const MAX_TOKENS = 20_000;

/**
 * The callers of recently valid tokens, by the SHA-256 of the token.
 *
 * This authenticates no request: the service checks each token at each request. It only decides for whom a request is counted before
 * that check.
 */
export class KnownTokens {
  readonly #operatorsToken: string | undefined;
  readonly #subjects = new Map<string, string>();

  /**
   * @param operatorsToken token of the lock file. It is always known, because its check needs no query.
   */
  constructor(operatorsToken?: string) {
    this.#operatorsToken = operatorsToken === undefined ? undefined : digest(operatorsToken);
  }

  subjectOf(token: string): string | undefined {
    const key = digest(token);
    return key === this.#operatorsToken ? LOCAL_SUBJECT : this.#subjects.get(key);
  }

  /** Call it each time a check finds the token valid. */
  add(token: string, subject: string): void {
    const key = digest(token);
    this.#subjects.delete(key);
    if (this.#subjects.size >= MAX_TOKENS) this.#subjects.delete(this.#subjects.keys().next().value!);
    this.#subjects.set(key, subject);
  }

  remove(token: string): void {
    this.#subjects.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
