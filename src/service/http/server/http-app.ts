import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifySchemaCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from "fastify";
import type { z } from "zod";
import { faultsOf, invalidRequest } from "../../../contract/errors/faults.ts";
import type { Settings } from "../../../contract/settings.ts";
import type { Authenticate } from "../../auth/authenticate.ts";
import type { KeyStore } from "../../auth/key-store.ts";
import type { Blobs } from "../../blobs/blobs.ts";
import type { Caller, Operations, Scope } from "../../operations/operations.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry, WatchedRequest } from "../../telemetry/telemetry.ts";

/** What a zod schema of a route makes of what is sent. */
export interface ZodTypes extends FastifyTypeProvider {
  validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

/** Fastify whose handlers get what the zod schemas of their routes say. */
export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypes
>;

declare module "fastify" {
  interface FastifyRequest {
    /** Known in the handlers of all routes that are not for anyone. */
    caller: Caller | undefined;
    watched: WatchedRequest | undefined;
    /** Of the operation it is about. */
    operationId: string | undefined;
    /** Of the problem that was answered. */
    problemCode: string | undefined;
  }

  interface FastifyContextConfig {
    /** Who may come in; every route says it. */
    access?: Scope | "anyone";
    /** A page that people may come to by a link on another site. */
    isPage?: true;
    /** A body that the handler reads piece by piece, without the limits of small ones. */
    isStreamed?: true;
    /** Not counted among the requests a minute. */
    isUncounted?: true;
  }
}

/** One thing the service needs to do its work: `data_folder`, `database`, `storage`, `accepting`. */
export interface ReadyCheck {
  readonly name: string;
  readonly ok: boolean;
  /** What is wrong, without secrets. */
  readonly message?: string | undefined;
}

/** What HTTP stands on. */
export interface HttpOptions {
  readonly settings: Settings;
  readonly operations: Operations;
  readonly blobs: Blobs;
  readonly authenticate: Authenticate;
  /** The operator's own, of the lock file. */
  readonly localToken?: string | undefined;
  readonly keys: KeyStore;
  /** Milliseconds until a reader who takes nothing is given up; a minute by default. */
  readonly stallMilliseconds?: number | undefined;
  /** Milliseconds between two looks whether the key of an open stream is revoked; 15 s by default. */
  readonly lookMilliseconds?: number | undefined;
  /** Milliseconds that the headers of a request may take; 15 s by default. */
  readonly headersMilliseconds?: number | undefined;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestStarted" | "streamOpened" | "metrics" | "connectionRefused">;
  /** Looks at everything, at most every few seconds; never rejects. */
  ready(): Promise<readonly ReadyCheck[]>;
}

/** What paths of faults begin with, by the part of a request. */
const ROOTS: Readonly<Record<string, string>> = { params: "path", querystring: "query", headers: "headers" };

/**
 * Checks path, query and headers by their zod schemas, with faults in the words of all others. Bodies are JSON text
 * here, which is checked where it is understood.
 */
export const checkInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const root = ROOTS[httpPart ?? ""];
  if (root === undefined) return (value) => ({ value });
  return (input) => {
    const checked = schema.safeParse(input);
    if (checked.success) return { value: checked.data };
    return { error: invalidRequest(faultsOf(checked.error, schema, root, input)) };
  };
};
