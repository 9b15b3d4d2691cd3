import { createHash } from "node:crypto";
import { normalizeIP } from "@fastify/rate-limit";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { isFailedTry, tokenIn } from "../../auth/authenticate.ts";
import type { Caller } from "../../auth/caller.ts";
import { connectionLimit } from "../server/connection-limit.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { OpenAnswers } from "./open-answers.ts";

/** A new token replaces the one that was valid longest ago. */
const MAX_TOKENS = 20_000;
/** Enough for one event stream for each job of a caller's full queue, and some more. */
const MAX_OPEN_REQUESTS = 2_000;

type Limiter = ReturnType<HttpApp["createRateLimit"]>;

/**
 * Makes the check that identifies the caller of a request, counts the request, and requires the scope of its route. The rate of an
 * authenticated caller is the caller's and not the address's, so that callers behind one proxy do not use up each other's.
 *
 * The check throws MucastError unauthorized, forbidden, rate_limited or unavailable.
 */
export function requestAuthorizer(app: HttpApp, { settings, authenticate }: HttpOptions) {
  const requests = app.createRateLimit({
    max: settings.requests_per_minute,
    timeWindow: "1 minute",
    keyGenerator: (request) => (request.caller ? `caller ${request.caller.subject}` : readAddress(request)),
  });
  const failures = app.createRateLimit({
    max: settings.failed_tries_per_minute,
    timeWindow: "1 minute",
    keyGenerator: readAddress,
  });
  const known = new KnownTokens();
  const connections = connectionLimit(settings);
  // Event streams and waits last, and each costs memory and queries.
  const ofCaller = Math.min(MAX_OPEN_REQUESTS, Math.ceil(connections / 2));
  const open = new OpenAnswers({ ofCaller, all: connections, what: "requests" });
  app.decorate("countMessage", (request) => count(request, requests, "too many requests"));

  /** Beyond its maximum of failures, only tokens that were valid before are checked for an address. */
  async function identify(request: FastifyRequest): Promise<Caller> {
    const { authorization } = request.headers;
    const token = tokenIn(authorization);
    if (token !== undefined && !known.has(token)) {
      await count(request, failures, "too many wrong keys or tokens from this address", false);
    }
    try {
      const caller = await authenticate(authorization);
      if (token !== undefined) known.add(token);
      return caller;
    } catch (error) {
      if (token === undefined) await app.countMessage(request);
      else {
        known.delete(token);
        if (isFailedTry(error)) await failures(request);
      }
      throw error;
    }
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { access = "admin", isUncounted } = request.routeOptions.config;
    if (isUncounted) return;
    if (access !== "anyone") request.caller = await identify(request);
    await app.countMessage(request);
    open.begin(request.caller?.subject ?? readAddress(request), reply.raw);
    if (access === "anyone" || request.caller!.scopes.has(access)) return;
    const held = [...request.caller!.scopes].join(", ") || "none";
    const message = `this needs the scope ${access}; the credentials have: ${held}`;
    throw new MucastError("forbidden", message, { scope: access });
  };
}

/** An IPv6 address counts as its /64 network, because one machine may own all of it. A closed connection has none. */
function readAddress({ ip }: FastifyRequest): string {
  return normalizeIP((ip as string | undefined) ?? "closed");
}

/** @param increment false only asks whether there is room. */
async function count(request: FastifyRequest, limiter: Limiter, what: string, increment = true) {
  const counted = await limiter(request, { increment });
  if (counted.isAllowed) return;
  const isOver = increment ? counted.isExceeded : counted.remaining === 0;
  if (!isOver) return;
  const retryAfter = Math.max(1, counted.ttlInSeconds);
  throw new MucastError("rate_limited", `${what}; there is room again in ${retryAfter} s`, { retryAfter });
}

/** Digests of the tokens that were valid at their last check. This authenticates no request. */
class KnownTokens {
  readonly #digests = new Set<string>();

  has(token: string): boolean {
    return this.#digests.has(digest(token));
  }

  add(token: string): void {
    this.delete(token);
    if (this.#digests.size >= MAX_TOKENS) this.#digests.delete(this.#digests.values().next().value!);
    this.#digests.add(digest(token));
  }

  delete(token: string): void {
    this.#digests.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
