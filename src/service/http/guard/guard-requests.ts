import cors from "@fastify/cors";
import helmet from "@fastify/helmet";
import rateLimit from "@fastify/rate-limit";
import type { FastifyRequest, RouteOptions } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { recordRequest } from "../server/request-telemetry.ts";
import { requestAuthorizer } from "./authorize-request.ts";
import { AllowedHosts, allowedOrigins, checkOrigin } from "./hosts-and-origins.ts";

export const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"];
export const REQUEST_HEADERS = [
  ...["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "If-Range"],
  ...["Last-Event-ID", "Mcp-Protocol-Version", "Mcp-Session-Id", "Prefer", "Range", "Traceparent"],
];
export const ANSWER_HEADERS = [
  ...["Accept-Ranges", "Content-Range", "ETag", "Location", "Mcp-Session-Id", "Operation-Location"],
  ...["Preference-Applied", "Retry-After"],
];

/**
 * Adds the checks that every request passes before its handler runs, in this order: Host, Origin, whether the route exists,
 * credentials, rate, scope. The first check that fails answers the request.
 */
export function guardRequests(app: HttpApp, options: HttpOptions): void {
  const { settings } = options;
  app.addHook("onRequest", async (request, reply) => {
    recordRequest(request, reply, options);
    reply.header("cache-control", "no-store");
  });
  void app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // A browser shows no page that has this and is sandboxed, as reports are.
    crossOriginOpenerPolicy: false,
    // Whoever ends TLS decides for how long its name is bound to it.
    strictTransportSecurity: false,
  });
  const origin = allowedOrigins(settings);
  if (origin.length > 0) {
    void app.register(cors, {
      origin,
      methods: METHODS,
      allowedHeaders: REQUEST_HEADERS,
      exposedHeaders: ANSWER_HEADERS,
      maxAge: 600,
    });
  }
  void app.register(rateLimit, { global: false });
  // Behind the hooks of these, whose headers a refusal has too.
  app.after(() => addChecks(app, options, origin));
}

function addChecks(app: HttpApp, options: HttpOptions, origins: readonly string[]): void {
  const hosts = new AllowedHosts(options.settings);
  const authorize = requestAuthorizer(app, options);
  const routes: [path: RegExp, methods: string][] = [];
  app.addHook("onRoute", ({ url, method, config }: RouteOptions) => {
    if (config?.access === undefined) throw new Error(`${method} ${url} does not say its access`);
    // A parameter is one part of a path, and `*` the rest of it.
    const path = url.replaceAll(/[.+?^$()[\]{}|\\]/g, "\\$&").replaceAll(/:\w+/g, "[^/]+");
    routes.push([new RegExp(`^${path.replace("*", ".*")}$`), [method].flat().join()]);
  });
  app.addHook("onRequest", async (request, reply) => {
    hosts.check(request);
    checkOrigin(request, origins);
    if (request.is404 || request.method === "OPTIONS") throw noRoute(request, routes);
    await authorize(request, reply);
  });
  app.addHook("preParsing", async ({ headers, routeOptions }, reply) => {
    if (headers.expect !== undefined && !routeOptions.config.isStreamed) reply.raw.writeContinue();
  });
}

function noRoute({ raw, method }: FastifyRequest, routes: readonly (readonly [RegExp, string])[]) {
  const path = raw.url!.split("?")[0]!;
  const methods = routes.filter(([pattern]) => pattern.test(path)).map(([, names]) => names);
  if (methods.length > 0) {
    const allow = [...new Set(methods.join().split(","))].sort();
    return new MucastError("method_not_allowed", `${method} is not allowed here`, { allow });
  }
  // Without the path, which may be a mistyped link to a report.
  return new MucastError("not_found", "there is nothing at this path; /docs tells what there is", {
    path: "URL",
  });
}
