import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Log } from "../telemetry/log.ts";
import { jsonAnswer, problemAnswers } from "./openapi/route-docs.ts";
import { type HttpApp, type HttpOptions, READY_CHECKS, type ReadyCheck } from "./server/http-app.ts";

const aliveSchema = z.strictObject({ status: z.literal("ok") });

const readinessSchema = z.strictObject({
  checks: z.array(z.strictObject({ name: z.string(), ok: z.literal(true) })),
});

const READY = {
  checks: READY_CHECKS.map((name) => ({ name, ok: true })),
};

/** `GET /healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(app: HttpApp, options: HttpOptions): void {
  aliveRoute(app);
  readyRoute(app, options);
  metricsRoute(app, options);
}

function aliveRoute(app: HttpApp): void {
  app.route({
    method: "GET",
    url: "/healthz",
    config: { access: "anyone", isUncounted: true, isOnAnyHost: true },
    schema: {
      operationId: "alive",
      summary: "Whether the process answers",
      description: "For liveness probes. Checks nothing else.",
      tags: ["Service"],
      response: {
        200: jsonAnswer("The process answers.", aliveSchema, { status: "ok" }),
        ...problemAnswers("anyone"),
      },
    },
    handler: async () => ({ status: "ok" }),
  });
}

function readyRoute(app: HttpApp, { ready, log }: HttpOptions): void {
  /** The checks that failed at the last probe: only a change is logged. */
  let logged = "";
  app.route({
    method: "GET",
    url: "/readyz",
    config: { access: "anyone", isUncounted: true, isOnAnyHost: true, isProbe: true },
    schema: {
      operationId: "ready",
      summary: "Whether the service accepts jobs",
      description:
        "For readiness probes. The service is ready if the data folder, the database and the storage are writable, which it checks every five seconds, or every second while a check fails, and if it is not shutting down. A PostgreSQL database, and a storage in Azure or S3, may fail for 30 seconds before that. Otherwise it returns 503 with the reasons. The probe itself writes nothing.",
      tags: ["Service"],
      response: {
        200: jsonAnswer("The service accepts jobs.", readinessSchema, READY),
        ...problemAnswers("anyone"),
      },
    },
    handler: async () => {
      const checks = await ready();
      const failed = checks.filter(({ ok }) => !ok);
      const detail = failed.map(({ name, message }) => `${name}: ${message ?? "not ready"}`).join("; ");
      const names = failed.map(({ name }) => name).join();
      if (names !== logged) logReadiness(log, failed, detail);
      logged = names;
      if (failed.length === 0) return { checks: checks.map(({ name }) => ({ name, ok: true })) };
      throw new MucastError("unavailable", detail, { checks });
    },
  });
}

/** That a service starts or drains is expected; anything else that fails is not. */
function logReadiness(log: Log, failed: readonly ReadyCheck[], detail: string): void {
  if (failed.length === 0) log.info({}, "the service is ready");
  else if (failed.every(({ name }) => name === "accepting")) log.info({ detail }, "the service is not ready");
  else log.warn({ detail }, "the service is not ready");
}

function metricsRoute(app: HttpApp, { settings, telemetry }: HttpOptions): void {
  // The address does not matter: a service on loopback may be behind a public proxy.
  const access = settings.auth === "none" ? "anyone" : "read";
  app.route({
    method: "GET",
    url: "/metrics",
    config: { access },
    schema: {
      operationId: "metrics",
      summary: "Metrics for Prometheus",
      description: "Needs no credentials only if the service requires none (`auth` none).",
      tags: ["Service"],
      response: {
        200: {
          description: "Prometheus text format.",
          content: { "text/plain": { schema: { type: "string" } } },
        },
        ...problemAnswers("read"),
      },
    },
    handler: async (_request, reply) => {
      const { contentType, body } = await telemetry.metrics();
      return reply.type(contentType).send(body);
    },
  });
}
