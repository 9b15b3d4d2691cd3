import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { jsonAnswer, problemAnswers } from "./openapi/route-docs.ts";
import { type HttpApp, type HttpOptions, READY_CHECKS } from "./server/http-app.ts";

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
    config: { access: "anyone", isUncounted: true },
    schema: {
      operationId: "alive",
      summary: "Whether the process answers",
      description: "For probes that restart it. Looks at nothing else.",
      tags: ["Service"],
      response: { 200: jsonAnswer("It does.", aliveSchema, { status: "ok" }), ...problemAnswers("anyone") },
    },
    handler: async () => ({ status: "ok" }),
  });
}

function readyRoute(app: HttpApp, { ready }: HttpOptions): void {
  app.route({
    method: "GET",
    url: "/readyz",
    config: { access: "anyone", isUncounted: true },
    schema: {
      operationId: "ready",
      summary: "Whether jobs are taken",
      description:
        "For probes that send traffic: the data folder, the database and the storage can be written, which the service tries every five seconds by itself, and the service is not about to end. Else 503 with the reasons. The probe itself writes nothing.",
      tags: ["Service"],
      response: {
        200: jsonAnswer("They are.", readinessSchema, READY),
        ...problemAnswers("anyone"),
      },
    },
    handler: async () => {
      const checks = await ready();
      const failed = checks.filter(({ ok }) => !ok);
      if (failed.length === 0) return { checks: checks.map(({ name }) => ({ name, ok: true })) };
      const reasons = failed.map(({ name, message }) => `${name}: ${message ?? "not ready"}`);
      throw new MucastError("unavailable", reasons.join("; "), { checks });
    },
  });
}

function metricsRoute(app: HttpApp, { settings, telemetry }: HttpOptions): void {
  // The address does not matter: a service on loopback may stand behind a public proxy.
  const access = settings.auth === "none" ? "anyone" : "read";
  app.route({
    method: "GET",
    url: "/metrics",
    config: { access },
    schema: {
      operationId: "metrics",
      summary: "Figures of the service for Prometheus",
      description: "Without credentials only where the service asks nobody for any (`auth` none).",
      tags: ["Service"],
      response: {
        200: {
          description: "Prometheus' text format.",
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
