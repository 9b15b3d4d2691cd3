import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import cors from "@fastify/cors";
import helmet from "@fastify/helmet";
import rateLimit, { normalizeIP } from "@fastify/rate-limit";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { Settings } from "../../contract/settings.ts";
import { tokenIn } from "../auth/authenticate.ts";
import { type Caller, requireScope } from "../auth/caller.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";

export const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"];
export const REQUEST_HEADERS = [
  ...["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "If-Range"],
  ...["Last-Event-ID", "Mcp-Protocol-Version", "Mcp-Session-Id", "Prefer", "Range", "Traceparent"],
];
export const ANSWER_HEADERS = [
  ...["Accept-Ranges", "Content-Range", "ETag", "Location", "Mcp-Session-Id", "Operation-Location"],
  ...["Preference-Applied", "Retry-After"],
];

/** What every request passes before its handler: Host, Origin, whether the route exists, credentials, rate, scope. */
export function guardRequests(app: HttpApp, connections: number, options: HttpOptions): void {
  const { settings } = options;
  const directives = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };
  void app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives },
    // A browser shows no page that has this and is sandboxed, as reports are.
    crossOriginOpenerPolicy: false,
    // Whoever ends TLS decides for how long its name is bound to it.
    strictTransportSecurity: false,
  });
  /** Of pages that may call the service beside those that it serves itself. */
  const origins = settings.allowed_origins.map((text) => text.replace(/\/$/, "").toLowerCase());
  if (settings.public_url !== undefined) origins.push(new URL(settings.public_url).origin);
  if (origins.length > 0) {
    void app.register(cors, {
      origin: origins,
      methods: METHODS,
      allowedHeaders: REQUEST_HEADERS,
      exposedHeaders: ANSWER_HEADERS,
      maxAge: 600,
    });
  }
  void app.register(rateLimit, { global: false });
  // Behind the hooks of these, whose headers a refusal has too.
  app.after(() => {
    const names = hostNames(settings);
    const authorize = requestAuthorizer(app, connections, options);
    const routes: [URLPattern, methods: string | string[]][] = [];
    app.addHook("onRoute", ({ url, method, config }) => {
      if (config?.access === undefined) throw new Error(`${method} ${url} does not say its access`);
      routes.push([new URLPattern({ pathname: url }), method]);
    });
    app.addHook("onRequest", async (request, reply) => {
      checkHost(request, names);
      checkOrigin(request, origins);
      if (request.is404 || request.method === "OPTIONS") {
        const pathname = request.raw.url!.split("?")[0]!;
        const names = routes
          .filter(([pattern]) => pattern.test({ pathname }))
          .flatMap(([, methods]) => methods);
        const allow = [...new Set(names)].sort();
        if (allow.length > 0)
          throw new MucastError("method_not_allowed", `${request.method} is not allowed here`, { allow });
        // Without the path, which may be a mistyped link to a report.
        const message = "there is nothing at this path; /docs tells what there is";
        throw new MucastError("not_found", message, { path: "URL" });
      }
      await authorize(request, reply);
    });
    app.addHook("preParsing", async ({ headers, routeOptions }, reply) => {
      if (headers.expect !== undefined && !routeOptions.config.isStreamed) reply.raw.writeContinue();
    });
  });
}

export function hostNames({ public_url, allowed_hosts }: Pick<Settings, "public_url" | "allowed_hosts">) {
  const named = public_url === undefined ? [] : [new URL(public_url).host];
  return new Set([...named, ...allowed_hosts].map(withoutDefaultPort));
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(80|443)$/, "");
}

function checkHost({ headers, socket, routeOptions }: FastifyRequest, names: ReadonlySet<string>): void {
  const { host = "" } = headers;
  if (routeOptions.config?.isProbe || isAllowedHost(host, names, socket)) return;
  const title = "The Host header does not name this service";
  const advice =
    "Use a URL with a name of this service, or ask its operator to add this one to MUCAST_ALLOWED_HOSTS.";
  const message = `Host ${show(host)} is not a name of this service; its operator may add it to MUCAST_ALLOWED_HOSTS`;
  throw new MucastError("forbidden", message, { path: "Host", title, advice });
}

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]@/?#\\\s,]+)(?::(\d{1,5}))?$/i;

/**
 * Whether a host is a configured name, a loopback name, or the connection's own local address with the connection's port. A page of a
 * foreign site can make its own name resolve to this service's address (DNS rebinding), but an address is not a name that it can
 * rebind. A loopback name may have any port: that of a container that is published on another one, or of a forwarded port.
 */
export function isAllowedHost(
  host: string,
  names: ReadonlySet<string>,
  { localAddress, localPort }: Pick<Socket, "localAddress" | "localPort">,
) {
  if (names.has(withoutDefaultPort(host))) return true;
  const [, name, port = "80"] = HOST.exec(host) ?? [];
  if (name === undefined || Number(port) > 65_535) return false;
  if (isLoopbackName(name)) return true;
  const plain = name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return Number(port) === localPort && plain === localAddress?.replace(/^::ffff:/, "");
}

/** Refuses a request that a browser sends for a foreign page. One without Origin and Sec-Fetch-Site comes from no browser. */
function checkOrigin({ headers, routeOptions, method }: FastifyRequest, allowed: readonly string[]): void {
  const { origin, host } = headers;
  let reason = "pages of other sites may not call this service";
  if (origin !== undefined) {
    // Without the scheme: a proxy may end TLS, and then the page is https and the request http.
    if (origin.replace(/^https?:\/\//i, "").toLowerCase() === host?.toLowerCase()) return;
    if (allowed.includes(origin.toLowerCase())) return;
    reason = `pages of ${show(origin)} may not call this service`;
  } else {
    const site = headers["sec-fetch-site"] ?? "none";
    if (site === "same-origin" || site === "none") return;
    const isLink = headers["sec-fetch-mode"] === "navigate" && (method === "GET" || method === "HEAD");
    if (isLink && routeOptions.config?.isPage) return;
  }
  const title = "Pages of this origin may not call the service";
  const advice =
    "Open a page of the service itself, or ask its operator to add the origin to MUCAST_ALLOWED_ORIGINS.";
  const message = `${reason}; its operator may add an origin to MUCAST_ALLOWED_ORIGINS`;
  throw new MucastError("forbidden", message, { path: "Origin", title, advice });
}

const MAX_TOKENS = 20_000;
/** Enough for one event stream for each job of a caller's full queue, and some more. */
const MAX_OPEN_REQUESTS = 2_000;

type Limiter = ReturnType<HttpApp["createRateLimit"]>;

/** The rate of an authenticated caller is the caller's, not the address's: callers behind one proxy do not use up each other's. */
function requestAuthorizer(app: HttpApp, connections: number, { settings, authenticate }: HttpOptions) {
  const limitRate = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: "1 minute", keyGenerator });
  const requests = limitRate(settings.requests_per_minute, (request) =>
    request.caller ? `caller ${request.caller.subject}` : readAddress(request),
  );
  const failures = limitRate(settings.failed_tries_per_minute, readAddress);
  /** Digests of the tokens that were valid at their last check. They authenticate no request. */
  const known = new Set<string>();
  // Event streams and waits last, and each costs memory and queries.
  const ofCaller = Math.min(MAX_OPEN_REQUESTS, Math.ceil(connections / 2));
  const begin = limitAnswers("requests", ofCaller, connections);
  app.decorate("countMessage", (request) => count(request, requests, "too many requests"));

  /** Beyond its maximum of failures, only tokens that were valid before are checked for an address. */
  async function identify(request: FastifyRequest): Promise<Caller> {
    const { authorization } = request.headers;
    const token = tokenIn(authorization);
    const digest = hash("sha256", token ?? "", "base64");
    if (token !== undefined && !known.has(digest))
      await count(request, failures, "too many wrong keys or tokens from this address", false);
    try {
      const caller = await authenticate(authorization);
      if (token === undefined) return caller;
      known.delete(digest);
      known.add(digest);
      if (known.size > MAX_TOKENS) known.delete(known.values().next().value!);
      return caller;
    } catch (error) {
      known.delete(digest);
      if (token === undefined) await app.countMessage(request);
      else if (error instanceof MucastError && error.data.path === "Authorization") await failures(request);
      throw error;
    }
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { access = "admin", isProbe } = request.routeOptions.config;
    if (isProbe) return;
    if (access !== "anyone") request.caller = await identify(request);
    await app.countMessage(request);
    begin(request.caller?.subject ?? readAddress(request), reply.raw);
    if (access !== "anyone") requireScope(request.caller!, access, "this");
  };
}

/** An IPv6 address counts as its /64 network, because one machine may own all of it. A closed connection has none. */
function readAddress({ ip }: FastifyRequest): string {
  return normalizeIP((ip as string | undefined) ?? "closed");
}

async function count(request: FastifyRequest, limiter: Limiter, what: string, increment = true) {
  const counted = await limiter(request, { increment });
  if (counted.isAllowed || !(increment ? counted.isExceeded : counted.remaining === 0)) return;
  const retryAfter = Math.max(1, counted.ttlInSeconds);
  throw new MucastError("rate_limited", `${what}; there is room again in ${retryAfter} s`, { retryAfter });
}

/** Counts an answer until its response closes. @param what they are, in the plural. */
export function limitAnswers(what: string, ofCaller: number, all: number) {
  const bySubject = new Map<string, number>();
  let total = 0;
  return (subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void => {
    // A response that is already closed would emit no further `close` and stay counted.
    if (response.destroyed) return;
    const count = bySubject.get(subject) ?? 0;
    if (count >= ofCaller || total >= all) {
      const isCaller = count >= ofCaller;
      const reached = isCaller ? `${count} ${what} of this caller` : `${total} ${what}`;
      const code = isCaller ? "rate_limited" : "unavailable";
      throw new MucastError(code, `${reached} are in progress already`, { retryAfter: 5 });
    }
    total += 1;
    bySubject.set(subject, count + 1);
    response.once("close", () => {
      total -= 1;
      const left = bySubject.get(subject)! - 1;
      if (left === 0) bySubject.delete(subject);
      else bySubject.set(subject, left);
    });
  };
}
