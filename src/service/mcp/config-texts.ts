import { partTexts } from "./part-text.ts";

/**
 * A JSON-RPC message, or a batch of them, in which the `config` of a tool call is its own JSON text, as if the caller
 * had sent that. One that went through JavaScript numbers would reach Python as another: `1.0` as `1`, 2^60 + 1 as 2^60.
 * What lies deeper than any other part of a message is left out: that which checks it, or tells of it, would run out of
 * stack.
 *
 * @throws SyntaxError where `text` is not JSON.
 */
export function withConfigTexts(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!Array.isArray(plain)) return bounded(withConfigText(plain, () => text));
  // Taken apart once: message by message a large batch would take minutes.
  const texts = partTexts(text);
  return bounded(plain.map((message, index) => withConfigText(message, () => texts.get(index)!)));
}

/** With the config out of it, no message of the protocol comes near. */
const DEEPEST_MESSAGE = 64;

function bounded(value: unknown, deepest = DEEPEST_MESSAGE): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return deepest === 0 ? [] : value.map((part) => bounded(part, deepest - 1));
  const members = deepest === 0 ? [] : Object.entries(value);
  return Object.fromEntries(members.map(([key, part]) => [key, bounded(part, deepest - 1)]));
}

const ARGUMENTS = ["params", "arguments"] as const;

function withConfigText(message: unknown, textOf: () => string): unknown {
  const args = ARGUMENTS.reduce(memberOf, message);
  if (memberOf(message, "method") !== "tools/call" || memberOf(args, "config") === undefined) return message;
  let before: string | undefined;
  const texts = partTexts(
    ARGUMENTS.reduce((text, name) => partTexts(text).get(name)!, textOf()),
    (key, text) => {
      if (key === "config") before = text;
    },
  );
  const source = texts.get("config")!;
  // Of two configs neither counts: what checks a config refuses both, as it does over HTTP.
  if (before !== undefined)
    (args as Record<string, unknown>).config = `{"config":${before},"config":${source}}`;
  else if (typeof memberOf(args, "config") !== "string") (args as Record<string, unknown>).config = source;
  return message;
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}
