import type { FastifyRequest, RouteOptions } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { inScope } from "../../request-scope.ts";
import { connectionLimit } from "../server/connection-limit.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { SAFE_HEADERS, unmetExpectation } from "../server/problem-answer.ts";
import { limitBodyTime } from "../server/request-bodies.ts";
import { recordRequest, redactPath } from "../server/request-telemetry.ts";
import { AllowedHosts } from "./allowed-hosts.ts";
import { AllowedOrigins } from "./allowed-origins.ts";
import { authorizeRequest, KnownTokens, scopeOf } from "./authorize-request.ts";
import { OpenAnswers, requestLimits, TokenBuckets } from "./caller-limits.ts";

const AT_ONCE_REFUSED_PER_MINUTE = 600;

/**
 * Adds the checks that every request passes before its handler runs, in this order: Host, Expect, Origin, then whether
 * the route exists, credentials, rate, scope. The first check that fails answers the request.
 */
export function guardRequests(app: HttpApp, options: HttpOptions): void {
  const { settings, authenticate } = options;
  const hosts = new AllowedHosts(settings);
  const origins = new AllowedOrigins(settings);
  const authorization = {
    authenticate,
    rates: new TokenBuckets(settings.requests_per_minute),
    failedTries: new TokenBuckets(settings.failed_tries_per_minute),
    refusals: new TokenBuckets(AT_ONCE_REFUSED_PER_MINUTE),
    known: new KnownTokens(options.localToken),
    open: new OpenAnswers(requestLimits(connectionLimit(settings))),
  };
  const routes = new RouteTable();
  app.addHook("onRoute", (route) => {
    if (route.config?.access === undefined)
      throw new Error(`${route.method} ${route.url} does not say its access`);
    routes.add(route);
  });
  app.addHook("onRequest", async (request, reply) => {
    recordRequest(request, reply, options);
    reply.headers(SAFE_HEADERS);
    hosts.check(request);
    checkExpect(request);
    origins.check(request);
    origins.addHeaders(reply, request);
    if (origins.answerPreflight(request, reply)) return reply;
    if (!request.is404) await authorizeRequest(request, reply, authorization);
    else throw noRoute(request, routes);
  });
  app.addHook("preParsing", async (request, reply) => {
    if (request.routeOptions.config.isStreamed) return;
    limitBodyTime(request);
    if (request.headers.expect !== undefined) reply.raw.writeContinue();
  });
  // The last hook before the handler, which it calls: the handler, and everything that it awaits, runs in the scope.
  app.addHook("preHandler", (request, reply, done) => inScope(scopeOf(request, reply), done));
}

/**
 * Refuses an expectation other than `100-continue`, the only one that RFC 9110 defines.
 *
 * @throws MucastError invalid_request, with the status 417.
 */
function checkExpect({ headers: { expect = "" } }: FastifyRequest): void {
  const expectations = expect.split(",").map((item) => item.trim().toLowerCase());
  if (expectations.some((item) => item !== "" && item !== "100-continue")) throw unmetExpectation();
}

function noRoute(request: FastifyRequest, routes: RouteTable): MucastError {
  const path = request.raw.url!.split("?")[0]!;
  const allow = routes.methodsOf(path);
  if (allow.length > 0) {
    return new MucastError("method_not_allowed", `${request.method} is not allowed here`, { allow });
  }
  return new MucastError(
    "not_found",
    `there is nothing at ${show(redactPath(path))}; /docs tells what there is`,
    {
      path: "URL",
    },
  );
}

interface RoutePattern {
  readonly path: RegExp;
  readonly methods: Set<string>;
}

/** The methods that each path has, so that a request with another method gets them in `Allow`. */
class RouteTable {
  readonly #patterns = new Map<string, RoutePattern>();

  add({ url, method }: Pick<RouteOptions, "url" | "method">): void {
    const pattern = this.#patterns.get(url) ?? { path: patternOf(url), methods: new Set() };
    for (const name of [method].flat()) pattern.methods.add(name);
    this.#patterns.set(url, pattern);
  }

  /** @returns an empty list for a path that no route has. */
  methodsOf(path: string): readonly string[] {
    const found = [...this.#patterns.values()].find((pattern) => pattern.path.test(path));
    return [...(found?.methods ?? [])].sort();
  }
}

/** The pattern that a part of a route's path stands for, by its first character. */
const WILDCARDS: Readonly<Record<string, string>> = { ":": "[^/]+", "*": ".*" };

function patternOf(url: string): RegExp {
  const parts = url
    .split("/")
    .map((part) => WILDCARDS[part[0] ?? ""] ?? part.replaceAll(/[.*+?^$()[\]{}|\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("/")}$`);
}
