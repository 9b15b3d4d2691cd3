import { McpServer } from "@modelcontextprotocol/server";
import type { ApiOperationName } from "../../contract/api/operations.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Caller } from "../operations.ts";
import { callTool } from "./call-tool.ts";
import { instructions } from "./instructions.ts";
import type { ToolOperations } from "./tool-operations.ts";
import { toolError, toolResult } from "./tool-result.ts";
import { TOOLS, type ToolDefinition } from "./tools.ts";

export interface McpServerParts {
  readonly operations: ToolOperations;
  readonly caller: Caller;
  /** Of the service, as callers reach it. */
  readonly address: string;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
  /** Is told of defects, under the id that their problem names. */
  readonly onDefect: (error: unknown, id: unknown) => void;
}

/** An MCP server for one caller, with a tool for each operation of the service. */
export function mcpServer({ operations, caller, address, traceparent, onDefect }: McpServerParts): McpServer {
  const server = new McpServer(
    { name: "mucast", title: "mucast", version: MUCAST_VERSION },
    { instructions: instructions(address), capabilities: { tools: { listChanged: false } } },
  );
  for (const [name, tool] of Object.entries(TOOLS) as [ApiOperationName, ToolDefinition][]) {
    server.registerTool(name, tool, async (args) => {
      try {
        return toolResult(await callTool(operations, { name, args, caller, traceparent }));
      } catch (error) {
        return toolError(error, onDefect);
      }
    });
  }
  return server;
}
