import { type Readable, Transform, type TransformCallback, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import {
  INVALID_REQUEST,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { ToolOperations } from "./call-tool.ts";
import { mcpServer } from "./mcp-server.ts";
import { idOf, type RefusedMessage, readMessage, refused } from "./read-message.ts";

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

/** Serves the tools over stdio until `input` ends or `signal` aborts. @throws MucastError too_large for a message above the limit. */
export async function serveMcpOnStdio(
  { operations, address, input, output, onError }: StdioParts,
  signal: AbortSignal,
): Promise<void> {
  // The SDK adds a drain listener for each answer that waits.
  output.setMaxListeners(0);
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

/** The longest line that the SDK's own transport accepts. */
const MAX_LINE_LENGTH = 10 * 2 ** 20;
const NEWLINE = 0x0a;
const SPACES = new Set(Buffer.from(" \t\r"));

/**
 * Reads MCP messages over stdio, one per line, and passes them on with the config of a tool call as its JSON text. Answers batches
 * and invalid lines, to which the transport would not respond.
 */
class ConfigTextLines extends Transform {
  readonly #refuse: (answer: RefusedMessage) => void;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(refuse: (answer: RefusedMessage) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#take(bytes.subarray(start, end));
      start = end + 1;
    }
    this.#rest.push(bytes.subarray(start));
    this.#restBytes += bytes.length - start;
    done(this.#restBytes > MAX_LINE_LENGTH ? tooLong() : null);
  }

  override _flush(done: TransformCallback): void {
    this.#take(Buffer.alloc(0));
    done();
  }

  /** @param end of the line that starts with `#rest`. */
  #take(end: Buffer): void {
    const line = Buffer.concat([...this.#rest, end]);
    this.#rest = [];
    this.#restBytes = 0;
    if (line.every((byte) => SPACES.has(byte))) return;
    const read = readMessage(line);
    if ("refused" in read) {
      this.#refuse(read.refused);
      return;
    }
    this.#passOn(read.message);
  }

  #passOn(message: unknown): void {
    const written = `${JSON.stringify(message)}\n`;
    if (!isJSONRPCMessage(message))
      this.#refuse(refused(idOf(message), INVALID_REQUEST, "this is not a JSON-RPC 2.0 message"));
    // A config as text has an additional backslash before each of its quotes and backslashes.
    else if (Buffer.byteLength(written) > MAX_LINE_LENGTH)
      this.#refuse(refused(idOf(message), INVALID_REQUEST, TOO_LONG));
    else this.push(written);
  }
}

function isJSONRPCMessage(message: unknown): boolean {
  return [isJSONRPCRequest, isJSONRPCNotification, isJSONRPCResponse].some((is) => is(message));
}

function tooLong(): MucastError {
  return new MucastError("too_large", TOO_LONG);
}

const TOO_LONG = "a message is longer than 10 MB; put large data where a URL can name it";
