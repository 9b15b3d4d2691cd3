import fastify, { type FastifyReply } from "fastify";
import { settingsSchema } from "../../contract/settings.ts";
import { aboutToEnd } from "../abort-error.ts";
import { blobListRoutes } from "./blobs/blob-list-routes.ts";
import { blobRoutes } from "./blobs/blob-routes.ts";
import { prepareRoutes } from "./blobs/prepare-routes.ts";
import { guardRequests } from "./guard/guard-requests.ts";
import { healthRoutes } from "./health-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { collectRoutes, type OpenApiDocument } from "./openapi/document.ts";
import { eventRoutes } from "./operations/event-routes.ts";
import { jobRoutes } from "./operations/job-routes.ts";
import { operationRoutes } from "./operations/operation-routes.ts";
import { reportRoutes } from "./operations/report-routes.ts";
import { documentRoutes } from "./page/document-routes.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { queueRoutes } from "./queue-routes.ts";
import { connectionLimit } from "./server/connection-limit.ts";
import { type HttpApp, type HttpOptions, withZod } from "./server/http-app.ts";
import { HttpServer } from "./server/http-server.ts";
import { answerClientError, SAFE_HEADERS, sendProblem } from "./server/problem-answer.ts";

/** Every group of routes; its file is `<group>-routes.ts`. */
export const ROUTE_GROUPS = {
  job: jobRoutes,
  operation: operationRoutes,
  event: eventRoutes,
  queue: queueRoutes,
  report: reportRoutes,
  blob: blobRoutes,
  "blob-list": blobListRoutes,
  prepare: prepareRoutes,
  health: healthRoutes,
  key: keyRoutes,
  document: documentRoutes,
  page: pageRoutes,
} as const;

/**
 * Maximum characters of a blob's name or an id in the path. Long enough that a faulty name gets an answer that says what is wrong.
 */
const MAX_PARAMETER_LENGTH = 200;

/**
 * The service over HTTP.
 *
 * The caller may add further routes before it listens. Each route must state its `config.access`. All routes pass the same checks of
 * Host, Origin, credentials and rate.
 */
export function buildHttp(options: HttpOptions): HttpApp {
  let http: HttpServer | undefined;
  const app = withZod(
    fastify({
      bodyLimit: options.settings.body_bytes,
      serverFactory: (handler) => {
        const { log, telemetry, headersMilliseconds, stallMilliseconds } = options;
        const connections = connectionLimit(options.settings);
        const onOverLimit = () => telemetry.connectionRefused();
        http = new HttpServer(handler, {
          connections,
          log,
          onOverLimit,
          headersMilliseconds,
          stallMilliseconds,
        });
        return http.server;
      },
      routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
      // While the service drains, the handler that can no longer serve a request refuses it.
      return503OnClosing: false,
      clientErrorHandler: (error, socket) => answerClientError(error, socket, http!.owesAnswer(socket)),
      frameworkErrors: (error, request, reply) => {
        void reply.headers(SAFE_HEADERS);
        sendProblem(error, request, reply as FastifyReply, options.log);
      },
    }),
  );
  for (const name of ["caller", "watched", "operationId", "problemCode"]) {
    app.decorateRequest(name, undefined);
  }
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, options.log));
  guardRequests(app, options);
  collectRoutes(app);
  addRoutes(app, options);
  app.addHook("preClose", async () => http?.close());
  return app;
}

/** Registers each group in a separate Fastify context, because groups accept bodies in different ways. */
function addRoutes(app: HttpApp, options: HttpOptions): void {
  const closing = new AbortController();
  // Event streams and waits would keep open the connections that Fastify waits for when it closes.
  app.addHook("preClose", async () => closing.abort(aboutToEnd()));
  for (const addGroup of Object.values(ROUTE_GROUPS)) {
    void app.register(async (group) => addGroup(group as HttpApp, options, closing.signal));
  }
}

/** Enough for registering routes; no handler runs. */
const NO_SERVICE = { settings: settingsSchema.parse({}) } as HttpOptions;

/** The OpenAPI document of all routes, without starting or opening anything. */
export async function makeDocument(): Promise<OpenApiDocument> {
  const app = withZod(fastify());
  collectRoutes(app);
  addRoutes(app, NO_SERVICE);
  await app.ready();
  const document = app.swagger() as unknown as OpenApiDocument;
  await app.close();
  return document;
}
