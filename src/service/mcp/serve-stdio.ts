import { type Readable, Transform, type TransformCallback, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import {
  INVALID_REQUEST,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  PARSE_ERROR,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../operations/operations.ts";
import type { ToolOperations } from "./call-tool.ts";
import { withConfigTexts } from "./config-texts.ts";
import { mcpServer } from "./mcp-server.ts";

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

/** As much of a line as the SDK's own transport takes. */
const LONGEST_LINE = 10 * 2 ** 20;

/** The answer to what is no message, of JSON-RPC 2.0. */
export interface RefusedMessage {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/**
 * Messages of MCP over stdio, one a line, in which the config of a tool call has become its own JSON text. The messages
 * of a batch go on one by one. The transport would answer nothing to what is no message, so that is answered here.
 */
export class ConfigTextLines extends Transform {
  readonly #decoder = new StringDecoder("utf8");
  readonly #refuse: (answer: RefusedMessage) => void;
  #rest = "";

  constructor(refuse: (answer: RefusedMessage) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const lines = (this.#rest + this.#decoder.write(bytes)).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) this.#take(line);
    done(this.#rest.length > LONGEST_LINE ? tooLong() : null);
  }

  override _flush(done: TransformCallback): void {
    this.#take(this.#rest);
    done();
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    const read = parsed(line);
    if (read === undefined) {
      this.#refuse(refused(null, PARSE_ERROR, "this line is no JSON"));
      return;
    }
    const batch = Array.isArray(read) ? read : [read];
    if (batch.length === 0)
      this.#refuse(refused(null, INVALID_REQUEST, "a batch holds at least one message"));
    for (const message of batch) {
      if (isJSONRPCMessage(message)) this.push(`${JSON.stringify(message)}\n`);
      else this.#refuse(refused(idOf(message), INVALID_REQUEST, "this is no message of JSON-RPC 2.0"));
    }
  }
}

function refused(id: string | number | null, code: number, message: string): RefusedMessage {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function isJSONRPCMessage(message: unknown): boolean {
  return [isJSONRPCRequest, isJSONRPCNotification, isJSONRPCResponse].some((is) => is(message));
}

function idOf(message: unknown): string | number | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function tooLong(): MucastError {
  return new MucastError(
    "too_large",
    "a message is longer than 10 MB; put large data where a URL can name it",
  );
}

/** Undefined for what is not JSON. */
function parsed(line: string): unknown {
  try {
    return withConfigTexts(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
