import { INVALID_REQUEST, PARSE_ERROR } from "@modelcontextprotocol/server";
import { hasMoreValues } from "../../contract/json/bounded-json.ts";
import { withConfigTexts } from "./config-texts.ts";

/** Far more than a tool has arguments for. The SDK checks each value several times, which takes time of the event loop. */
const MAX_VALUES = 2_000;

/** The answer of JSON-RPC 2.0 to an invalid message. */
export interface RefusedMessage {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/**
 * Reads a JSON-RPC message, with the config of a tool call as its JSON text. Refuses a byte order mark, which RFC 8259 forbids
 * senders to add, and a batch, which MCP removed in revision 2025-06-18: the limits of a request apply to one call.
 *
 * @returns `refused`, an error of JSON-RPC, if the bytes are not one message as JSON in UTF-8.
 */
export function readMessage(
  bytes: Uint8Array,
): { readonly message: unknown } | { readonly refused: RefusedMessage } {
  const text = utf8(bytes);
  if (text === undefined) return { refused: parseError("the message is not valid UTF-8") };
  if (text.startsWith("\uFEFF"))
    return { refused: parseError("the message begins with a byte order mark; send it without") };
  try {
    const message = withConfigTexts(text);
    if (Array.isArray(message)) return { refused: refused(null, INVALID_REQUEST, NO_BATCH) };
    return hasMoreValues(message, MAX_VALUES)
      ? { refused: refused(idOf(message), INVALID_REQUEST, TOO_MANY) }
      : { message };
  } catch (error) {
    if (error instanceof SyntaxError) return { refused: parseError("the message is no JSON") };
    throw error;
  }
}

const TOO_MANY = `the message has more than ${MAX_VALUES} values outside its config`;

const NO_BATCH = "batches are not supported: send each message of the batch on its own";

export function refused(id: string | number | null, code: number, message: string): RefusedMessage {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function parseError(message: string): RefusedMessage {
  return refused(null, PARSE_ERROR, message);
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The id of a message, if it has one. */
export function idOf(message: unknown): string | number | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
