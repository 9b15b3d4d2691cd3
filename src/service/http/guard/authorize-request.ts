import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { type Authenticate, LOCAL_SUBJECT, tokenIn } from "../../auth/authenticate.ts";
import type { Caller } from "../../operations/operations.ts";
import { addressKey, type OpenRequests, type TokenBuckets } from "./caller-limits.ts";

export interface Admission {
  readonly authenticate: Authenticate;
  /** Requests of a caller, or of an address. */
  readonly buckets: TokenBuckets;
  /** Tokens of an address that are not known to be good, and turn out not to be. */
  readonly tries: TokenBuckets;
  readonly known: KnownTokens;
  readonly open: OpenRequests;
}

/**
 * Finds out who asks, counts the request, and lets in whom the route is for.
 *
 * Who has said who they are is counted as that, so that nobody else at their address (a proxy, say) uses it up.
 * @throws MucastError unauthorized, forbidden, rate_limited, unavailable.
 */
export async function authorizeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
): Promise<void> {
  const { buckets, open } = admission;
  const { access = "admin", isUncounted } = request.routeOptions.config;
  if (access === "anyone") {
    if (!isUncounted) count(buckets, addressKey(request.ip));
    return;
  }
  const caller = await identified(request, admission);
  request.caller = caller;
  open.begin(caller.subject, reply.raw);
  if (caller.scopes.has(access)) return;
  const held = [...caller.scopes].join(", ") || "none";
  throw new MucastError("forbidden", `this needs the scope ${access}; the credentials have: ${held}`, {
    scope: access,
  });
}

/**
 * Who asks, counted. A check costs a look into the database or a signature, so none is made without a limit: a token
 * that was good a short while ago is counted as its caller's before it is checked, any other as a try of its address.
 */
async function identified(request: FastifyRequest, admission: Admission): Promise<Caller> {
  const { authenticate, buckets, known } = admission;
  const { authorization } = request.headers;
  const token = tokenIn(authorization);
  const subject = token === undefined ? undefined : known.subjectOf(token);
  if (token !== undefined && subject === undefined) return firstSeen(request, token, admission);
  if (subject !== undefined) count(buckets, callerKey(subject));
  const caller = await authenticate(authorization).catch((error: unknown) => {
    if (token === undefined) count(buckets, addressKey(request.ip));
    else if (isRefusal(error)) known.forget(token);
    throw error;
  });
  if (subject === undefined) count(buckets, callerKey(caller.subject));
  else known.remember(token!, caller.subject);
  return caller;
}

/** Takes one of the tries of an address before the check, and gives it back where the token is good. */
async function firstSeen(
  request: FastifyRequest,
  token: string,
  { authenticate, buckets, tries, known }: Admission,
): Promise<Caller> {
  const address = addressKey(request.ip);
  count(tries, address, "too many wrong keys or tokens from this address");
  const caller = await authenticate(request.headers.authorization).catch((error: unknown) => {
    if (!isRefusal(error)) tries.giveBack(address);
    throw error;
  });
  tries.giveBack(address);
  known.remember(token, caller.subject);
  count(buckets, callerKey(caller.subject));
  return caller;
}

function callerKey(subject: string): string {
  return `caller ${subject}`;
}

/** Whether it is the token's fault, not that of a database or an issuer that is away. */
function isRefusal(error: unknown): boolean {
  return error instanceof MucastError && error.code === "unauthorized";
}

function count(buckets: TokenBuckets, key: string, what = "too many requests"): void {
  const retryAfter = buckets.take(key);
  if (retryAfter === 0) return;
  throw new MucastError("rate_limited", `${what}; there is room again in ${retryAfter} s`, {
    retryAfter,
  });
}

/** Tokens that are remembered; the one that was good longest ago is forgotten for a new one. */
const MOST_TOKENS = 20_000;

/**
 * Whose the tokens were that were good a short while ago, by their SHA-256. It lets no caller in: each token is checked at each
 * request. It tells which tries need no limit of their own, and as whom they are counted before they are checked.
 */
export class KnownTokens {
  readonly #most: number;
  readonly #operators: string | undefined;
  readonly #subjects = new Map<string, string>();

  /** @param operatorsToken of the lock file: always known, as checking it costs nothing. */
  constructor(operatorsToken?: string, most = MOST_TOKENS) {
    this.#operators = operatorsToken === undefined ? undefined : digest(operatorsToken);
    this.#most = most;
  }

  subjectOf(token: string): string | undefined {
    const key = digest(token);
    return key === this.#operators ? LOCAL_SUBJECT : this.#subjects.get(key);
  }

  /** It was good just now. */
  remember(token: string, subject: string): void {
    const key = digest(token);
    this.#subjects.delete(key);
    if (this.#subjects.size >= this.#most) this.#subjects.delete(this.#subjects.keys().next().value!);
    this.#subjects.set(key, subject);
  }

  /** It is good no more. */
  forget(token: string): void {
    this.#subjects.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
