import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  FastifySchemaCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from "fastify";
import { z } from "zod";
import type { BlobStore } from "../../../blob/store.ts";
import type { QueueView } from "../../../contract/api/queue-view.ts";
import type { ErrorCode } from "../../../contract/errors/error-codes.ts";
import { faultsOf, invalidRequest } from "../../../contract/errors/faults.ts";
import type { Settings } from "../../../contract/settings.ts";
import type { Authenticate } from "../../auth/authenticate.ts";
import type { Caller, Scope } from "../../auth/caller.ts";
import type { KeyStore } from "../../auth/key-store.ts";
import type { Blobs } from "../../blobs/blobs.ts";
import type { Operations } from "../../operations/operations.ts";
import type { Preparations } from "../../preparation/preparations.ts";
import type { ReportLinks, Reports } from "../../report/reports.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry, WatchedRequest } from "../../telemetry/telemetry.ts";

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

declare module "fastify" {
  interface FastifyRequest {
    /** Set in the handler of every route whose access is a scope. */
    caller: Caller | undefined;
    watched: WatchedRequest | undefined;
    /** Operation that the request names or creates, for the log line. */
    operationId: string | undefined;
    problemCode: string | undefined;
  }

  interface FastifyContextConfig {
    /** Scope that a caller needs. The service does not start with a route that lacks it. */
    access?: RouteAccess;
    /** Codes that the route may answer in addition to those of every route, for the document. */
    problems?: readonly ErrorCode[];
    /** A page that a browser may open from a link on another site. */
    isPage?: true;
    /** The handler reads the body piece by piece, and says when it begins to. */
    isStreamed?: true;
    /** The last part of the path is a secret, which never appears in the log. */
    hasSecretPath?: true;
    /** The request does not count towards the requests per minute. */
    isUncounted?: true;
    /** Its 503 is an answer that repeats with each probe: the handler logs the first one itself. */
    isProbe?: true;
    /** Answers whatever its Host is, as probes send it: the answer has nothing that a page of another site may not see. */
    isOnAnyHost?: true;
  }

  interface FastifyInstance {
    /** Counts a further message of a request towards the rate of its caller. @throws MucastError rate_limited. */
    countMessage: (request: FastifyRequest) => Promise<void>;
  }
}

/** `anyone`: the route requires no credentials. */
export type RouteAccess = Scope | "anyone";

/** What the service needs to accept jobs. */
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
  readonly localToken?: string | undefined;
  readonly keys: Pick<KeyStore, "create" | "page" | "revoke">;
  /** Milliseconds between two comments of an event stream, each of which checks its key; 15 s by default. */
  readonly beatMilliseconds?: number | undefined;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestStarted" | "streamOpened" | "metrics" | "connectionRefused">;
  /** How busy this service is; returns at once. */
  occupancy(): QueueView["service"];
  /** Checks all of it, at most once every few seconds. Never rejects. */
  ready(): Promise<readonly ReadyCheck[]>;
}

/** Makes a Fastify instance check requests by the zod schemas of its routes, and answer objects as JSON. */
export function withZod(app: FastifyInstance): HttpApp {
  const typed = app.withTypeProvider<ZodTypes>();
  typed.setValidatorCompiler(checkInput);
  // The schemas describe answers for the document; they are not run.
  typed.setSerializerCompiler(() => JSON.stringify);
  typed.setReplySerializer((answer) => JSON.stringify(answer));
  return typed;
}

const ROOTS: Readonly<Record<string, string>> = { params: "path", querystring: "query", headers: "headers" };

/** Checks path, query and headers. A handler that takes a JSON body parses and checks its text. */
const checkInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const root = ROOTS[httpPart ?? ""];
  if (root === undefined) return (value) => ({ value });
  const lists = httpPart === "querystring" ? findLists(schema) : [];
  return (input) => {
    for (const name of lists) if (typeof input[name] === "string") input[name] = [input[name]];
    const checked = schema.safeParse(input);
    if (checked.success) return { value: checked.data };
    return { error: invalidRequest(faultsOf(checked.error, schema, root, input)) };
  };
};

/** The parameters that are lists: Fastify parses one that occurs once as text. */
function findLists(schema: z.ZodType): string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return Object.entries(properties).flatMap(([name, part]) =>
    typeof part === "object" && part.type === "array" ? [name] : [],
  );
}

/** Where MCP clients find the OIDC issuer (RFC 9728). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The part of this service's URLs before the path, as the sender of a request can reach it. */
export function publicOrigin({ public_url }: Pick<Settings, "public_url">, request: FastifyRequest): string {
  return public_url?.replace(/\/+$/, "") ?? `${request.protocol}://${request.headers.host}`;
}

/** The part of a blob's URL before `/data/<name>`: the store's URL, or for a folder the origin of this service. */
export function blobBase(
  settings: Pick<Settings, "public_url">,
  store: Pick<BlobStore, "url">,
  request: FastifyRequest,
): string {
  return store.url === "" ? publicOrigin(settings, request) : store.url;
}
