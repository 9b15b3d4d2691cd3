import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifySchemaCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from "fastify";
import { z } from "zod";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
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

/** Gives a handler the output type of the zod schema that its route has for a part of the request. */
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
    /** W3C trace context to store with an operation. */
    traceparent: string | undefined;
    /** For the log line, if the path does not have it. */
    operationId: string | undefined;
    problemCode: string | undefined;
    /** The origin of this service as the sender of the request can reach it. */
    readonly publicOrigin: string;
  }

  interface FastifyReply {
    /** Aborts when the connection or the service closes. */
    abortSignal(): AbortSignal;
  }

  interface FastifyContextConfig {
    /** The scope that a caller needs. The service does not start with a route that lacks it. */
    access?: RouteAccess;
    /** Codes of the route in addition to those of every route, for the document. */
    problems?: readonly ErrorCode[];
    /** A browser may open it from a link on another site. */
    isPage?: true;
    /** The handler reads the body piece by piece, and says when it begins to. */
    isStreamed?: true;
    /** The last part of the path never appears in the log. */
    hasSecretPath?: true;
    /** Counts towards no rate, and answers any Host, with nothing that a page of another site may not see. */
    isProbe?: true;
  }

  interface FastifyInstance {
    /** Counts a further message of a request towards the rate of its caller. @throws MucastError rate_limited. */
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
  const lists = Object.keys(properties).filter(
    (name) => (properties[name] as { type?: string }).type === "array",
  );
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
      throw new MucastError("invalid_request", message, { path: "body" }, { cause });
    }
  });
}

/** Empty if the request has none. */
export function bodyText({ body }: { readonly body: unknown }): string {
  return typeof body === "string" ? body : "";
}

/**
 * Makes the routes of a group accept a body of any type, and discard it, since some clients send one that no route needs, or leave it
 * for the handler to read piece by piece.
 */
export function acceptBodies(app: HttpApp, use: "discard" | "leave"): void {
  app.removeAllContentTypeParsers();
  // Fastify would refuse a malformed Content-Type.
  app.addHook("preParsing", async ({ raw }) => {
    delete raw.headers["content-type"];
  });
  if (use === "leave") app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  else app.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}
