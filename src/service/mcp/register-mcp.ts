import { createMcpHandler, INVALID_REQUEST, PARSE_ERROR } from "@modelcontextprotocol/server";
import type { FastifyRequest } from "fastify";
import { hasMoreValues } from "../../contract/json/bounded-json.ts";
import type { Settings } from "../../contract/settings.ts";
import { aboutToEnd } from "../abort-error.ts";
import { type HttpApp, publicOrigin } from "../http/server/http-app.ts";
import { requestAbort } from "../http/server/request-abort.ts";
import { bodyText, readBodiesAsText } from "../http/server/request-body.ts";
import type { Log } from "../telemetry/log.ts";
import type { ToolOperations } from "./call-tool.ts";
import { type McpServerParts, mcpServer } from "./mcp-server.ts";

/** More than a call needs. The SDK checks each of them several times, which takes time of the event loop. */
const MAX_VALUES = 2_000;
const TOO_MANY = `the message has more than ${MAX_VALUES} values; send a large config as JSON text`;

interface McpOptions {
  readonly operations: ToolOperations;
  readonly settings: Pick<Settings, "public_url">;
  readonly log: Pick<Log, "error" | "warn">;
}

/**
 * `POST /mcp`: the tools over streamable HTTP, in the revisions with and without `initialize`. It keeps no sessions, so any service
 * on the same database can answer a request. The endpoint needs the scope `read`, and each tool its own scope.
 */
export function registerMcp(app: HttpApp, { operations, settings, log }: McpOptions): void {
  const closing = new AbortController();
  app.addHook("preClose", async () => closing.abort(aboutToEnd()));
  const handler = createMcpHandler(
    ({ authInfo }) =>
      mcpServer({
        operations,
        ...(authInfo!.extra as Pick<McpServerParts, "caller" | "address" | "traceparent">),
        onDefect: (error, id) =>
          log.error({ defect_id: id, err: error }, "a tool failed because of a defect"),
      }),
    { onerror: (error) => log.warn({ err: error }, "an MCP request was refused") },
  );
  void app.register(async (group) => {
    readBodiesAsText(group as HttpApp);
    group.post("/mcp", { config: { access: "read" }, schema: { hide: true } }, async (request, reply) => {
      const message = parseMessage(bodyText(request));
      if (message === undefined) {
        return reply.code(400).send(refusal(PARSE_ERROR, "the message is not JSON in UTF-8"));
      }
      if (hasMoreValues(message, MAX_VALUES)) return reply.code(400).send(refusal(INVALID_REQUEST, TOO_MANY));
      if (Array.isArray(message)) {
        // Before any of them is run; the request itself has counted as one.
        for (const _ of message.slice(1)) await app.countMessage(request);
      }
      const { caller, watched } = request;
      const authInfo = {
        token: "",
        clientId: caller!.subject,
        scopes: [...caller!.scopes],
        extra: { caller, address: publicOrigin(settings, request), traceparent: watched?.traceparent },
      };
      // Without the body: the SDK, which parses JSON by its own rules, gets only the message.
      const response = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, {
          method: "POST",
          headers: copyHeaders(request),
          signal: requestAbort(reply, closing.signal),
        }),
        { authInfo, parsedBody: message },
      );
      // The SDK's headers would replace those of the service, and keep a connection open that the client asked to close.
      response.headers.delete("connection");
      response.headers.set("cache-control", "no-store");
      return reply.send(response);
    });
  });
}

/** @returns undefined for text that is not JSON. */
function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The answer of JSON-RPC 2.0 to an invalid message. */
function refusal(code: number, message: string): object {
  return { jsonrpc: "2.0", id: null, error: { code, message } };
}

function copyHeaders({ headers }: FastifyRequest): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const item of [value ?? []].flat()) all.append(name, item);
  }
  return all;
}
