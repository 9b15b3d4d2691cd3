import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from "fastify";
import { z } from "zod";
import { withoutSignature } from "../../blob/policy.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { Settings } from "../../contract/settings.ts";
import type { Authenticate } from "../auth/authenticate.ts";
import type { Caller, Scope } from "../auth/caller.ts";
import type { KeyStore } from "../auth/key-store.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Preparations } from "../preparation/preparations.ts";
import type { ReportLinks, Reports } from "../report/reports.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

interface ZodTypes extends FastifyTypeProvider {
  validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypes
>;

export type RouteAccess = Scope | "anyone";

declare module "fastify" {
  interface FastifyRequest {
    /** Set in the handler of every route whose access is a scope. */
    caller: Caller | undefined;
    traceparent: string | undefined;
    operationId: string | undefined;
    problemCode: string | undefined;
    /** The origin of this service as the sender of the request can reach it. */
    readonly publicOrigin: string;
  }

  interface FastifyReply {
    abortSignal(): AbortSignal;
  }

  interface FastifyContextConfig {
    /** The scope that a caller needs. The service does not start with a route that lacks it. */
    access?: RouteAccess;
    /** Codes of the route in addition to those of every route, for the document. */
    problems?: readonly ErrorCode[];
    isPage?: true;
    /** The handler reads the body piece by piece, and says when it begins to. */
    isStreamed?: true;
    /** The last part of the path never appears in the log. */
    hasSecretPath?: true;
    /** Counts towards no rate, and answers any Host, with nothing that a page of another site may not see. */
    isProbe?: true;
  }

  interface FastifyInstance {
    countMessage: (request: FastifyRequest) => Promise<void>;
  }
}

export const READY_CHECKS = ["data_folder", "database", "storage", "accepting"] as const;

export interface ReadyCheck {
  readonly name: (typeof READY_CHECKS)[number];
  readonly ok: boolean;
  /** Why it is not ready, without secrets. */
  readonly message?: string | undefined;
}

export interface HttpOptions {
  readonly settings: Settings;
  readonly operations: Operations;
  readonly blobs: Blobs;
  readonly reports: Pick<Reports, "find" | "page">;
  readonly reportLinks: Pick<ReportLinks, "create" | "find" | "use">;
  readonly preparations: Pick<Preparations, "prepare">;
  readonly authenticate: Authenticate;
  readonly keys: Pick<KeyStore, "create" | "page" | "revoke">;
  /** Between two comments of an event stream, each of which checks its key; 15 s by default. */
  readonly beatMilliseconds?: number | undefined;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestStarted" | "streamOpened" | "metrics" | "connectionRefused">;
  readonly occupancy: () => QueueView["service"];
  readonly ready: () => Promise<readonly ReadyCheck[]>;
}

/** Makes Fastify check path, query and headers by the zod schemas of its routes, and answer objects as JSON. */
export function withZod(app: FastifyInstance): HttpApp {
  const typed = app.withTypeProvider<ZodTypes>();
  typed.setValidatorCompiler(checkInput);
  // The schemas describe answers for the document; they are not run.
  typed.setSerializerCompiler(() => JSON.stringify);
  typed.setReplySerializer((answer) => JSON.stringify(answer));
  return typed;
}

const ROOTS: Readonly<Record<string, string>> = { params: "path", querystring: "query", headers: "headers" };

/** A handler that takes a JSON body parses and checks its text itself. */
const checkInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const root = ROOTS[httpPart ?? ""];
  if (root === undefined) return (value) => ({ value });
  const { properties = {} } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const isList = (name: string) => (properties[name] as { type?: string }).type === "array";
  const lists = Object.keys(properties).filter(isList);
  return (input) => {
    // Fastify parses a parameter of the query that occurs once as text.
    for (const name of lists) if (typeof input[name] === "string") input[name] = [input[name]];
    const checked = schema.safeParse(input);
    if (checked.success) return { value: checked.data };
    return { error: invalidRequest(faultsOf(checked.error, schema, root, input)) };
  };
};

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i;

/** Makes the routes take a JSON body as text, so that numbers keep their spelling. */
export function readBodiesAsText(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(JSON_TYPE, { parseAs: "buffer" }, async (_: unknown, body: Buffer) => {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    } catch (cause) {
      const message = "the body is not valid UTF-8, or is compressed";
      throw new MucastError("invalid_request", message, BODY, { cause });
    }
  });
}

export function bodyText({ body }: { readonly body: unknown }): string {
  return typeof body === "string" ? body : "";
}

/** `discard`: some clients send a body that no route needs. `leave`: the handler reads it piece by piece. */
export function acceptBodies(app: HttpApp, use: "discard" | "leave"): void {
  app.removeAllContentTypeParsers();
  // Fastify would refuse a malformed Content-Type.
  app.addHook("preParsing", async ({ raw }) => {
    delete raw.headers["content-type"];
  });
  if (use === "leave") app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  else app.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}

export const PROBLEM_TYPE = "application/problem+json";

/** Where MCP clients find the OIDC issuer (RFC 9728). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

const BODY = { path: "body" };

/** The errors of Fastify that are faults of a request; any other is a defect. */
const FASTIFY_FAULTS: Readonly<Record<string, ConstructorParameters<typeof MucastError>>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["too_large", "the body is larger than the limit of body_bytes", BODY],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    "unsupported_media_type",
    "the body must be JSON, with a Content-Type that says so",
    { path: "Content-Type", accepted: ["application/json"] },
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    "invalid_request",
    "the body does not have the length of its Content-Length",
    BODY,
  ],
  FST_ERR_BAD_URL: ["invalid_request", "the URL holds a broken %-encoding", { path: "URL" }],
  FST_ERR_MAX_PARAM_LENGTH: ["not_found", "nothing here has a name that long", { path: "URL" }],
};

/** The problem of an error, and its headers. A defect must be logged under the id in its problem. */
export function problemAnswer(error: unknown) {
  const fault = FASTIFY_FAULTS[(error as { code?: string }).code ?? ""];
  const known = error instanceof MucastError ? error : fault && new MucastError(...fault);
  if (known === undefined || known.code === "internal") {
    // The caller is told only an id: the error may contain secrets.
    const id = randomUUID();
    const defect = new MucastError("internal", `a defect of mucast; see ${id} in its log`, { id });
    return { problem: problemOf(defect), headers: {}, isDefect: true };
  }
  // A second line of defence: messages are written without signatures of URLs.
  const problem: Problem = JSON.parse(withoutSignature(JSON.stringify(problemOf(known))));
  return { problem, headers: chooseHeaders(known), isDefect: false };
}

const CHALLENGE = 'Bearer realm="mucast"';

function chooseHeaders({ code, data }: MucastError): Record<string, string> {
  switch (code) {
    case "unauthorized":
      return { "WWW-Authenticate": CHALLENGE };
    case "forbidden":
      if (data.scope === undefined) return {};
      return { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${data.scope}"` };
    case "method_not_allowed":
      return { Allow: (data.allow as string[]).join(", ") };
    case "range_not_satisfiable":
      return { "Content-Range": `bytes */${data.size}` };
    case "rate_limited":
    case "unavailable":
      return { "Retry-After": String(data.retryAfter ?? 5) };
    default:
      return {};
  }
}

export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { settings, log }: Pick<HttpOptions, "settings" | "log">,
): void {
  if (reply.raw.headersSent || reply.raw.destroyed) return void reply.raw.destroy();
  const { problem, headers, isDefect } = problemAnswer(error);
  if (problem.code === "unauthorized") {
    const failed = request.headers.authorization === undefined ? "" : ', error="invalid_token"';
    const metadata = `, resource_metadata="${request.publicOrigin}${METADATA_PATH}"`;
    headers["WWW-Authenticate"] = `${CHALLENGE}${failed}${settings.auth === "oidc" ? metadata : ""}`;
  }
  const { url: route, config } = request.routeOptions;
  const { stack = String(error), cause } = error as Error;
  if (isDefect) {
    const fields = { defect_id: problem.id, method: request.method, route };
    log.error({ ...fields, stack: withoutSignature(stack) }, "a request met a defect");
  } else if (problem.status >= 500 && !config?.isProbe) {
    // The problem is enough for the caller; the operator also needs the cause.
    const why = cause instanceof Error ? withoutSignature(cause.message) : undefined;
    const fields = { code: problem.code, route, detail: problem.detail, cause: why };
    log.warn(fields, "a request could not be served");
  }
  request.problemCode = problem.code;
  void reply
    .code(problem.status)
    .headers({ "cache-control": "no-store", ...headers })
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problem));
}
