import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Caller } from "../operations.ts";
import { ConfigTextLines } from "./config-text-lines.ts";
import { mcpServer } from "./mcp-server.ts";
import type { ToolOperations } from "./tool-operations.ts";

export interface StdioParts {
  readonly operations: ToolOperations;
  /** Of the service that does them. */
  readonly address: string;
  readonly input: Readable;
  /** Carries the protocol and nothing else. */
  readonly output: Writable;
  /** Told of what the protocol has no answer for. */
  readonly onError: (error: unknown) => void;
}

/** Whoever started this process; what they may is for the service to say. */
const PARENT: Caller = { subject: "local", scopes: new Set(["read", "write"]) };

/** Serves the tools over stdio until `input` ends or `signal` aborts. @throws MucastError too_large for a message that is. */
export async function serveMcpOnStdio(
  { operations, address, input, output, onError }: StdioParts,
  signal: AbortSignal,
): Promise<void> {
  const lines = input.pipe(new ConfigTextLines((answer) => output.write(`${JSON.stringify(answer)}\n`)));
  const served = serveStdio(() => mcpServer({ operations, caller: PARENT, address, onDefect: onError }), {
    transport: new StdioServerTransport(lines, output),
    onerror: onError,
  });
  try {
    await finished(lines, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await served.close();
  }
}
