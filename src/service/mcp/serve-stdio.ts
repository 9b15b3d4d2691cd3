import { addAbortListener } from "node:events";
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Caller } from "../auth/caller.ts";
import type { ToolOperations } from "./call-tool.ts";
import { mcpServer } from "./mcp-server.ts";

interface StdioParts {
  readonly operations: ToolOperations;
  /** Address of the service that runs the operations. */
  readonly address: string;
  readonly input: Readable;
  /** Receives messages of the protocol only. */
  readonly output: Writable;
  /** Called for errors that the protocol cannot report. */
  readonly onError: (error: unknown) => void;
}

/** The user who started this process. The service decides what that user may do. */
const PARENT: Caller = { subject: "local", scopes: new Set(["read", "write"]) };

/** Serves the tools over stdio until `input` ends, a message exceeds the 10 MiB of the SDK's transport, or `signal` aborts. */
export async function serveMcpOnStdio(
  { operations, address, input, output, onError }: StdioParts,
  signal: AbortSignal,
): Promise<void> {
  // The SDK adds a drain listener for each answer that waits.
  output.setMaxListeners(0);
  const transport = new StdioServerTransport(input, output);
  const served = serveStdio(() => mcpServer({ operations, caller: PARENT, address, onDefect: onError }), {
    transport,
    onerror: onError,
  });
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
    addAbortListener(signal, () => resolve());
  });
  await served.close();
}
