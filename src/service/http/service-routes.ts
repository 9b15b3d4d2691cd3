import { z } from "zod";
import { queueSchema } from "../../contract/api/queue-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import { SCOPES } from "../auth/caller.ts";
import { newKeySchema } from "../auth/key-store.ts";
import { jsonAnswer } from "./document.ts";
import { QUEUE } from "./examples.ts";
import { bodyText, type HttpApp, type HttpOptions, METADATA_PATH, READY_CHECKS } from "./http-app.ts";

const PLAIN_TEXT = { "text/plain": { schema: { type: "string" } } };
const PROBE = { access: "anyone", isProbe: true } as const;
const aliveSchema = z.strictObject({ status: z.literal("ok") });
const checkSchema = z.strictObject({ name: z.string(), ok: z.literal(true) });
const readinessSchema = z.strictObject({ checks: z.array(checkSchema) });

export function serviceRoutes(app: HttpApp, options: HttpOptions): void {
  const { settings, operations, occupancy, telemetry } = options;
  app.route({
    method: "GET",
    url: "/v1/queue",
    config: { access: "read" },
    schema: {
      operationId: "get_queue",
      summary: "How busy the service is",
      description:
        "Returns how many operations are queued and running, in total and for the caller, the cores for jobs, and the scopes of the caller. Other callers appear only in the totals.",
      tags: ["Operations"],
      response: { 200: jsonAnswer("The current state.", queueSchema, QUEUE) },
    },
    handler: async ({ caller }) => ({
      ...(await operations.queue(caller!)),
      service: occupancy(),
      scopes: SCOPES.filter((scope) => caller!.scopes.has(scope)),
    }),
  });
  app.route({
    method: "GET",
    url: "/healthz",
    config: PROBE,
    schema: {
      operationId: "alive",
      summary: "Whether the process answers",
      description: "For liveness probes. Checks nothing else.",
      tags: ["Service"],
      response: { 200: jsonAnswer("The process answers.", aliveSchema, { status: "ok" }) },
    },
    handler: async () => ({ status: "ok" }),
  });
  readyRoute(app, options);
  app.route({
    method: "GET",
    url: "/metrics",
    // The address does not matter: a service on loopback may be behind a public proxy.
    config: { access: settings.auth === "none" ? "anyone" : "read", problems: ["unauthorized"] },
    schema: {
      operationId: "metrics",
      summary: "Metrics for Prometheus",
      description: "Needs no credentials only if the service requires none (`auth` none).",
      tags: ["Service"],
      response: { 200: { description: "Prometheus text format.", content: PLAIN_TEXT } },
    },
    handler: async (_request, reply) => {
      const { contentType, body } = await telemetry.metrics();
      return reply.type(contentType).send(body);
    },
  });
  keyRoutes(app, options);
  if (settings.auth !== "oidc") return;
  // RFC 9728. A client may also ask for the metadata of `/mcp` alone.
  for (const path of ["", "/mcp"]) {
    const schema = { hide: true } as const;
    app.get(`${METADATA_PATH}${path}`, { config: { access: "anyone" }, schema }, async (request) => ({
      resource: `${request.publicOrigin}${path}`,
      authorization_servers: [settings.oidc_issuer],
      scopes_supported: [settings.oidc_read_scope, settings.oidc_write_scope],
      bearer_methods_supported: ["header"],
    }));
  }
}

function readyRoute(app: HttpApp, { ready, log }: HttpOptions): void {
  const passed = READY_CHECKS.map((name) => ({ name, ok: true }));
  /** The checks that failed at the last probe: only a change is logged. */
  let logged = "";
  app.route({
    method: "GET",
    url: "/readyz",
    config: PROBE,
    schema: {
      operationId: "ready",
      summary: "Whether the service accepts jobs",
      description:
        "For readiness probes. The service is ready if the data folder, the database and the storage are writable, which it checks every five seconds, or every second while a check fails, and if it is not shutting down. A PostgreSQL database, and a storage in Azure or S3, may fail for 30 seconds before that. Otherwise it returns 503 with the reasons. The probe itself writes nothing.",
      tags: ["Service"],
      response: { 200: jsonAnswer("The service accepts jobs.", readinessSchema, { checks: passed }) },
    },
    handler: async () => {
      const checks = await ready();
      const failed = checks.filter(({ ok }) => !ok);
      const names = failed.map(({ name }) => name).join();
      const detail = failed.map(({ name, message }) => `${name}: ${message}`).join("; ");
      // That a service starts or drains is expected; anything else that fails is not.
      const level = names === "" || names === "accepting" ? "info" : "warn";
      if (names !== logged)
        log[level]({ detail: detail || undefined }, `the service is ${names === "" ? "" : "not "}ready`);
      logged = names;
      if (failed.length > 0) throw new MucastError("unavailable", detail, { checks });
      return { checks };
    },
  });
}

/** They need the scope `admin` and are not in the published API. */
function keyRoutes(app: HttpApp, { keys }: HttpOptions): void {
  const config = { access: "admin" } as const;
  const querystring = z.strictObject({ cursor: z.string().max(200).optional() });
  app.get("/admin/keys", { config, schema: { hide: true, querystring } }, async ({ query }) =>
    keys.page(query.cursor),
  );
  app.post("/admin/keys", { config, schema: { hide: true } }, async (request, reply) => {
    const plain = parseJson(bodyText(request), "body");
    const checked = newKeySchema.safeParse(plain);
    if (!checked.success) throw invalidRequest(faultsOf(checked.error, newKeySchema, "body", plain));
    reply.code(201);
    return keys.create(checked.data.name, checked.data.scopes);
  });
  const params = z.strictObject({ id: z.string() });
  app.delete("/admin/keys/:id", { config, schema: { hide: true, params } }, async ({ params: { id } }) => {
    const key = await keys.revoke(id);
    if (key !== undefined) return key;
    throw new MucastError("not_found", "there is no such key; `mucast keys list` shows them", { path: "id" });
  });
}
