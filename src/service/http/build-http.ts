import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { settingsSchema } from "../../contract/settings.ts";
import { blobRoutes } from "./blobs/blob-routes.ts";
import { AllowedHosts, checkHost } from "./guard/allowed-hosts.ts";
import { AllowedOrigins } from "./guard/allowed-origins.ts";
import { authorizeRequest, KnownTokens } from "./guard/authorize-request.ts";
import { OpenRequests, TokenBuckets } from "./guard/caller-limits.ts";
import { checkExpect, RouteTable } from "./guard/guard-requests.ts";
import { healthRoutes } from "./health-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { documentRoutes, type OpenApiDocument } from "./openapi/document.ts";
import { eventRoutes } from "./operations/event-routes.ts";
import { jobRoutes } from "./operations/job-routes.ts";
import { operationRoutes } from "./operations/operation-routes.ts";
import { exampleRoutes } from "./page/example-routes.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { connectionLimit } from "./server/connection-limit.ts";
import { checkInput, type HttpApp, type HttpOptions, type ZodTypes } from "./server/http-app.ts";
import { HttpServer } from "./server/http-server.ts";
import { limitBodyTime } from "./server/request-bodies.ts";
import { recordRequest } from "./server/request-telemetry.ts";
import { answerClientError, SAFE_HEADERS, sendProblem } from "./server/send-problem.ts";

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
  const hosts = new AllowedHosts(settings);
  const origins = new AllowedOrigins(settings);
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
    recordRequest(request, reply, options);
    reply.headers(SAFE_HEADERS);
    checkHost(request, hosts);
    checkExpect(request);
    origins.check(request);
    origins.tell(reply, request);
    if (origins.answerPreflight(request, reply)) return reply;
    if (!request.is404) await authorizeRequest(request, reply, admission);
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

/** What handlers would stand on, if one were called. */
const NOTHING = { settings: settingsSchema.parse({}) } as HttpOptions;

/** The OpenAPI document of the routes there are, without starting or opening anything. */
export async function makeDocument(): Promise<OpenApiDocument> {
  const app = fastify().withTypeProvider<ZodTypes>();
  app.setValidatorCompiler(checkInput);
  app.setSerializerCompiler(() => JSON.stringify);
  documentRoutes(app);
  addRoutes(app, NOTHING);
  await app.ready();
  const document = app.swagger() as unknown as OpenApiDocument;
  await app.close();
  return document;
}

/** Each group in a context of its own, since they take bodies in different ways. */
export function addRoutes(app: HttpApp, options: HttpOptions): void {
  const closing = new AbortController();
  // Streams and waits would keep the connections open that closing waits for.
  app.addHook("preClose", async () => closing.abort());
  const groups = [
    jobRoutes,
    operationRoutes,
    eventRoutes,
    blobRoutes,
    healthRoutes,
    keyRoutes,
    pageRoutes,
    exampleRoutes,
  ];
  for (const routes of groups) {
    void app.register(async (group) => routes(group as HttpApp, options, closing.signal));
  }
}
