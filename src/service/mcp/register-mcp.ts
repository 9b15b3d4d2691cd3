import { createMcpHandler, type McpRequestContext } from "@modelcontextprotocol/server";
import type { FastifyRequest } from "fastify";
import type { Settings } from "../../contract/settings.ts";
import { aboutToEnd } from "../abort-error.ts";
import { type HttpApp, publicOrigin } from "../http/server/http-app.ts";
import { requestAbort } from "../http/server/request-abort.ts";
import { readBodiesAsBytes } from "../http/server/request-bodies.ts";
import type { Log } from "../telemetry/log.ts";
import type { ToolOperations } from "./call-tool.ts";
import { type McpServerParts, mcpServer } from "./mcp-server.ts";
import { readMessage } from "./read-message.ts";

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
    (context) =>
      mcpServer({
        operations,
        ...callerOf(context),
        onDefect: (error, id) =>
          log.error({ defect_id: id, err: error }, "a tool failed because of a defect"),
      }),
    { onerror: (error) => log.warn({ err: error }, "an MCP request was refused") },
  );
  void app.register(async (group) => {
    readBodiesAsBytes(group as HttpApp);
    group.post("/mcp", { config: { access: "read" }, schema: { hide: true } }, async (request, reply) => {
      const read = readMessage(request.body instanceof Buffer ? request.body : Buffer.alloc(0));
      if ("refused" in read) {
        log.warn({ reason: read.refused.error.message }, "an MCP request was refused");
        return reply.code(400).send(read.refused);
      }
      // Without the body: the SDK, which parses JSON by its own rules, gets only the message.
      const asked = new Request(`http://${request.headers.host}/mcp`, {
        method: "POST",
        headers: headersOf(request),
        signal: requestAbort(reply, closing.signal),
      });
      const { caller, watched } = request;
      const authInfo = {
        token: "",
        clientId: caller!.subject,
        scopes: [...caller!.scopes],
        extra: { caller, address: publicOrigin(settings, request), traceparent: watched?.traceparent },
      };
      const response = await handler.fetch(asked, { authInfo, parsedBody: read.message });
      // The SDK's headers would replace those of the service, and keep a connection open that the client asked to close.
      response.headers.delete("connection");
      response.headers.set("cache-control", "no-store");
      return reply.send(response);
    });
  });
}

function callerOf({ authInfo }: McpRequestContext) {
  return authInfo!.extra as Pick<McpServerParts, "caller" | "address" | "traceparent">;
}

function headersOf({ headers }: FastifyRequest): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const item of [value ?? []].flat()) all.append(name, item);
  }
  return all;
}
