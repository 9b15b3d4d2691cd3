import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { addRoutes } from "./add-routes.ts";
import { admit } from "./admit.ts";
import { limitBodyTime } from "./body-text.ts";
import { checkExpect } from "./check-expect.ts";
import { checkHost } from "./check-host.ts";
import { checkInput } from "./check-input.ts";
import { answerClientError } from "./client-error.ts";
import { connectionLimit } from "./connection-limit.ts";
import type { HttpApp, ZodTypes } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { HttpServer } from "./http-server.ts";
import { KnownTokens } from "./known-tokens.ts";
import { OpenRequests } from "./open-requests.ts";
import { documentRoutes } from "./openapi.ts";
import { Origins } from "./origins.ts";
import { OwnHosts } from "./own-hosts.ts";
import { RouteTable } from "./route-table.ts";
import { SAFE_HEADERS } from "./safe-headers.ts";
import { sendProblem } from "./send-problem.ts";
import { TokenBuckets } from "./token-buckets.ts";
import { watchRequest } from "./watch-request.ts";

/** Names of blobs and ids, with room for faulty ones that are to be told what is wrong. */
const LONGEST_PARAMETER = 200;

/**
 * The service over HTTP. Routes of others may be added before it listens; each has to say its `config.access`, and
 * all of them stand behind the same checks of Host, Origin, credentials and rate.
 */
export function buildHttp(options: HttpOptions): HttpApp {
  let http: HttpServer | undefined;
  const app = fastify({
    bodyLimit: options.settings.body_bytes,
    serverFactory: (handler) => {
      const { log, telemetry, headersMilliseconds } = options;
      const connections = connectionLimit(options.settings);
      const onMore = () => telemetry.connectionRefused();
      http = new HttpServer(handler, { connections, log, onMore, headersMilliseconds });
      return http.server;
    },
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    // What comes while the service ends is told so by whoever cannot serve it any more.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => answerClientError(error, socket, http!.isAnswering(socket)),
    frameworkErrors: (error, request, reply) => {
      void reply.headers(SAFE_HEADERS);
      sendProblem(error, request, reply as FastifyReply, options.log);
    },
  }).withTypeProvider<ZodTypes>();
  app.decorateRequest("caller", undefined);
  app.decorateRequest("watched", undefined);
  app.decorateRequest("operationId", undefined);
  app.decorateRequest("problemCode", undefined);
  app.setValidatorCompiler(checkInput);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, options.log));
  guard(app, options);
  documentRoutes(app);
  addRoutes(app, options);
  app.addHook("preClose", async () => http?.end());
  return app;
}

/** What every request passes, in this order, before its route sees it. */
function guard(app: HttpApp, options: HttpOptions): void {
  const { settings, authenticate } = options;
  const hosts = new OwnHosts(settings);
  const origins = new Origins(settings);
  const buckets = new TokenBuckets(settings.requests_per_minute);
  const tries = new TokenBuckets(settings.failed_tries_per_minute);
  const known = new KnownTokens(options.localToken);
  const admission = { authenticate, buckets, tries, known, open: new OpenRequests() };
  const table = new RouteTable();
  app.addHook("onRoute", (route) => {
    if (route.config?.access === undefined)
      throw new Error(`${route.method} ${route.url} does not say its access`);
    table.add(route);
  });
  app.addHook("onRequest", async (request, reply) => {
    watchRequest(request, reply, options);
    reply.headers(SAFE_HEADERS);
    checkHost(request, hosts);
    checkExpect(request);
    origins.check(request);
    origins.tell(reply, request);
    if (origins.answerPreflight(request, reply)) return reply;
    if (!request.is404) await admit(request, reply, admission);
    else throw nothingHere(request, table);
  });
  app.addHook("preParsing", async (request, reply) => {
    if (request.routeOptions.config.isStreamed) return;
    limitBodyTime(request);
    if (request.headers.expect !== undefined) reply.raw.writeContinue();
  });
}

function nothingHere(request: FastifyRequest, table: RouteTable): MucastError {
  const path = request.raw.url!.split("?")[0]!;
  const allow = table.methodsOf(path);
  if (allow.length > 0) {
    return new MucastError("method_not_allowed", `${request.method} is not allowed here`, { allow });
  }
  return new MucastError("not_found", `there is nothing at ${show(path)}; /docs tells what there is`, {
    path: "URL",
  });
}
