import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from "fastify";
import type { z } from "zod";
import type { Caller, Scope } from "../operations.ts";
import type { WatchedRequest } from "../telemetry/telemetry.ts";

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
