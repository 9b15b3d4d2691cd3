import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { redactUrl } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import { type Settings, settingsSchema } from "../../contract/settings.ts";
import { aboutToEnd } from "../operations/operations.ts";
import { blobRoutes } from "./blob-routes.ts";
import { collectRoutes, namedSchemas, type OpenApiDocument } from "./document.ts";
import { documentRoutes } from "./document-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { guardRequests } from "./guard.ts";
import { type HttpApp, type HttpOptions, readBodiesAsText, sendProblem, withZod } from "./http-app.ts";
import { jobRoutes, operationRoutes } from "./operation-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import { reportRoutes } from "./report-routes.ts";
import { serviceRoutes } from "./service-routes.ts";

/** Each is registered in a context of its own, because they read bodies in different ways. */
const ROUTE_GROUPS = [
  ...[jobRoutes, operationRoutes, eventRoutes, reportRoutes, blobRoutes],
  ...[serviceRoutes, documentRoutes, pageRoutes],
];

/** Without a byte in either direction: longer than `Prefer: wait` and than the gap between two comments of an event stream. */
const IDLE_SECONDS = 120;

export function buildHttp(options: HttpOptions): HttpApp {
  const { settings } = options;
  const connections = connectionLimit(settings);
  const app = withZod(
    fastify({
      bodyLimit: settings.body_bytes,
      // A report or prepared blobs are drawn without a byte on the connection.
      connectionTimeout: 1_000 * Math.max(IDLE_SECONDS, settings.request_seconds + 30),
      keepAliveTimeout: 75_000,
      // The largest upload of the default settings, at 0.8 MB/s.
      requestTimeout: 6 * 3_600_000,
      http: { headersTimeout: 15_000 },
      trustProxy: settings.trusted_proxies.length > 0 && settings.trusted_proxies,
      // Long enough that a faulty name gets an answer that says what is wrong.
      routerOptions: { maxParamLength: 200 },
      // While the service drains, the handler that can no longer serve a request refuses it.
      return503OnClosing: false,
      frameworkErrors: (error, request, reply) => sendProblem(error, request, reply as FastifyReply, options),
    }),
  );
  limitConnections(app, connections, options);
  // The handler sends "100 Continue", so that it can refuse an upload before the caller sends the bytes.
  app.server.on("checkContinue", (request, response) => app.server.emit("request", request, response));
  app.decorateRequest("publicOrigin", {
    getter() {
      return settings.public_url?.replace(/\/+$/, "") ?? `${this.protocol}://${this.headers.host}`;
    },
  });
  const closing = new AbortController();
  app.decorateReply("abortSignal", function abortSignal() {
    const controller = new AbortController();
    // Fastify's `request.signal` aborts once the body has been read.
    const leave = () => controller.abort(new MucastError("canceled", "the caller has left"));
    this.raw.once("close", leave);
    if (this.raw.destroyed) leave();
    return AbortSignal.any([controller.signal, closing.signal]);
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, options));
  app.addHook("onRequest", async (request, reply) => {
    recordRequest(request, reply, options);
    reply.header("cache-control", "no-store");
  });
  guardRequests(app, connections, options);
  collectRoutes(app);
  addRoutes(app, options);
  app.addHook("preClose", async () => {
    // Event streams and waits would keep open the connections that Fastify waits for when it closes.
    closing.abort(aboutToEnd());
    setTimeout(() => app.server.closeAllConnections(), 5_000).unref();
  });
  app.addHook("onResponse", async () => {
    if (closing.signal.aborted) app.server.closeIdleConnections();
  });
  return app;
}

function addRoutes(app: HttpApp, options: HttpOptions): void {
  readBodiesAsText(app);
  for (const addGroup of ROUTE_GROUPS)
    void app.register(async (group) => addGroup(group as HttpApp, options));
}

export async function makeDocument(): Promise<OpenApiDocument> {
  const app = withZod(fastify());
  collectRoutes(app);
  // Enough for registering routes; no handler runs.
  addRoutes(app, { settings: settingsSchema.parse({}) } as HttpOptions);
  await app.ready();
  const document = app.swagger() as unknown as OpenApiDocument;
  await app.close();
  return document;
}

/** The schemas of a document with the whole output, of which the document has only `mu`: the Python client reads it. */
export function addOutput({ components }: OpenApiDocument): OpenApiDocument["components"]["schemas"] {
  return { ...components.schemas, ...namedSchemas(outputBlobSchema) };
}

/** The log line never has the query or headers, nor a path without a route: it may be a mistyped link to a report. */
function recordRequest(request: FastifyRequest, reply: FastifyReply, { log, telemetry }: HttpOptions): void {
  const startedAt = performance.now();
  const { method, headers, is404, raw, routeOptions } = request;
  const { url, config } = routeOptions;
  const route = is404 ? undefined : url;
  const watched = telemetry.requestStarted({
    method,
    traceparent: headers.traceparent as string | undefined,
  });
  request.traceparent = watched.traceparent;
  reply.raw.once("close", () => {
    const { statusCode: status, writableFinished } = reply.raw;
    const { problemCode: code, caller, params } = request;
    const named = url?.startsWith("/v1/operations/:id") ? (params as { readonly id?: string }).id : undefined;
    watched.ended({ route, status, code });
    // The log leaves out what is undefined.
    const fields = {
      method,
      route,
      path: route && (config?.hasSecretPath ? route : redactUrl(raw.url!).slice(0, 200)),
      status,
      ms: Math.round(performance.now() - startedAt),
      operation_id: request.operationId ?? named,
      code,
      caller: caller?.subject,
      aborted: writableFinished ? undefined : true,
    };
    log.info(fields, "request");
  });
}

function limitConnections({ server }: HttpApp, connections: number, { log, telemetry }: HttpOptions): void {
  server.maxConnections = connections;
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size < connections) return;
    // One that has sent nothing makes room for the next.
    [...open].find((other) => other.bytesRead === 0 && other !== socket)?.destroy();
  });
  let warnedAt = Number.NEGATIVE_INFINITY;
  server.on("drop", () => {
    telemetry.connectionRefused();
    // The next attempt gets a place, unless all are busy.
    server.closeIdleConnections();
    if (performance.now() - warnedAt < 60_000) return;
    warnedAt = performance.now();
    log.warn({ connections }, "the limit of open connections is reached; new connections are closed");
  });
  // A connection that cannot be accepted emits an error, which would end the process. Before, listen() rejects with it.
  server.once("listening", () =>
    server.on("error", (error) => log.warn({ err: error }, "the server failed")),
  );
}

/** Of the service itself, with a reserve. */
const OWN_FILES = 256;
/** Four pipes to its process, and as many in reserve. */
const FILES_PER_JOB = 8;
/** The socket, and the file of an upload or a download. */
const FILES_PER_CONNECTION = 2;

/** So many open connections that the rest of the service never runs out of file descriptors. */
function connectionLimit({ connections, concurrent_jobs }: Settings): number {
  // The soft limit, which Node raises to the hard limit at its start. Other systems than Linux do not tell it.
  const limits = process.platform === "linux" ? readFileSync("/proc/self/limits", "latin1") : "";
  const files = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  const reserved = OWN_FILES + FILES_PER_JOB * concurrent_jobs;
  const room = Math.floor((files - reserved) / FILES_PER_CONNECTION);
  if (connections === undefined) return Math.max(16, Math.min(10_000, room));
  if (connections <= room) return connections;
  const message =
    `${connections} connections need ${connections * FILES_PER_CONNECTION} open files beside ${reserved} of the service, ` +
    `and this process may have ${files}: raise "ulimit -n" (LimitNOFILE of systemd), or lower connections`;
  throw new MucastError("invalid_request", message, { path: "connections", value: connections });
}
