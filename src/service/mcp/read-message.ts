import { INVALID_REQUEST, PARSE_ERROR } from "@modelcontextprotocol/server";
import { hasMoreValues } from "../../contract/json/bounded-json.ts";

/** More than a call needs. The SDK checks each value several times, which takes time of the event loop. */
const MAX_VALUES = 2_000;

/** The answer of JSON-RPC 2.0 to an invalid message. */
interface RefusedMessage {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/**
 * Reads a JSON-RPC message. Refuses a batch, which MCP removed in revision 2025-06-18: the limits of a request apply to one call.
 *
 * @returns `refused`, an error of JSON-RPC, if the bytes are not one message as JSON in UTF-8.
 */
export function readMessage(
  bytes: Uint8Array,
): { readonly message: unknown } | { readonly refused: RefusedMessage } {
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return refused(null, PARSE_ERROR, "the message is not JSON in UTF-8");
  }
  if (Array.isArray(message)) return refused(null, INVALID_REQUEST, NO_BATCH);
  if (hasMoreValues(message, MAX_VALUES)) return refused(idOf(message), INVALID_REQUEST, TOO_MANY);
  return { message };
}

const TOO_MANY = `the message has more than ${MAX_VALUES} values; send a large config as JSON text`;

const NO_BATCH = "batches are not supported: send each message of the batch on its own";

function refused(id: string | number | null, code: number, message: string): { refused: RefusedMessage } {
  return { refused: { jsonrpc: "2.0", id, error: { code, message } } };
}

/** The id of a message, if it has one. */
function idOf(message: unknown): string | number | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
