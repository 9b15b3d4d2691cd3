import fastify, { type FastifyReply } from "fastify";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import { settingsSchema } from "../../contract/settings.ts";
import { aboutToEnd } from "../abort-error.ts";
import { blobRoutes } from "./blobs/blob-routes.ts";
import { prepareRoutes } from "./blobs/prepare-routes.ts";
import { guardRequests } from "./guard/guard-requests.ts";
import { namedSchemas } from "./openapi/component-schemas.ts";
import { collectRoutes, type OpenApiDocument } from "./openapi/document.ts";
import { eventRoutes } from "./operations/event-routes.ts";
import { jobRoutes } from "./operations/job-routes.ts";
import { operationRoutes } from "./operations/operation-routes.ts";
import { reportRoutes } from "./operations/report-routes.ts";
import { documentRoutes } from "./page/document-routes.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { limitConnections } from "./server/connection-limit.ts";
import { type HttpApp, type HttpOptions, withZod } from "./server/http-app.ts";
import { sendProblem } from "./server/problem-answer.ts";
import { serviceRoutes } from "./service-routes.ts";

/** Each is registered in a context of its own, because they read bodies in different ways. */
const ROUTE_GROUPS = [
  ...[jobRoutes, operationRoutes, eventRoutes, reportRoutes, blobRoutes, prepareRoutes],
  ...[serviceRoutes, documentRoutes, pageRoutes],
];

/** Characters of a name or an id in the path. Long enough that a faulty name gets an answer that says what is wrong. */
const MAX_PARAMETER_LENGTH = 200;
const HEADERS_MILLISECONDS = 15_000;
/** The largest upload of the default settings, at 0.8 MB/s. */
const REQUEST_MILLISECONDS = 6 * 3_600_000;
/** Without a byte in either direction: longer than `Prefer: wait` and than the gap between two comments of an event stream. */
const IDLE_SECONDS = 120;
const KEPT_ALIVE_MILLISECONDS = 75_000;
/** After the service is told to close. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

/**
 * The service over HTTP. The caller may add routes before it listens, each with its `config.access`: all routes pass the same checks
 * of Host, Origin, credentials and rate.
 */
export function buildHttp(options: HttpOptions): HttpApp {
  const { settings } = options;
  const app = withZod(
    fastify({
      bodyLimit: settings.body_bytes,
      // A report or prepared blobs are drawn without a byte on the connection.
      connectionTimeout: 1_000 * Math.max(IDLE_SECONDS, settings.request_seconds + 30),
      keepAliveTimeout: KEPT_ALIVE_MILLISECONDS,
      requestTimeout: REQUEST_MILLISECONDS,
      http: { headersTimeout: HEADERS_MILLISECONDS },
      trustProxy: settings.trusted_proxies.length > 0 && settings.trusted_proxies,
      routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
      // While the service drains, the handler that can no longer serve a request refuses it.
      return503OnClosing: false,
      frameworkErrors: (error, request, reply) => sendProblem(error, request, reply as FastifyReply, options),
    }),
  );
  limitConnections(app, options);
  // The handler sends "100 Continue", so that it can refuse an upload before the caller sends the bytes.
  app.server.on("checkContinue", (request, response) => app.server.emit("request", request, response));
  for (const name of ["caller", "watched", "operationId", "problemCode"]) {
    app.decorateRequest(name, undefined);
  }
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, options));
  guardRequests(app, options);
  collectRoutes(app);
  addRoutes(app, options);
  app.addHook("preClose", async () => {
    setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MILLISECONDS).unref();
  });
  return app;
}

function addRoutes(app: HttpApp, options: HttpOptions): void {
  const closing = new AbortController();
  // Event streams and waits would keep open the connections that Fastify waits for when it closes.
  app.addHook("preClose", async () => closing.abort(aboutToEnd()));
  for (const addGroup of ROUTE_GROUPS) {
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

/** The schemas of a document with the whole output, of which the document has only `mu`: the Python client reads it. */
export function addOutput({ components }: OpenApiDocument): OpenApiDocument["components"]["schemas"] {
  return { ...components.schemas, ...namedSchemas(outputBlobSchema) };
}
