/**
 * Parses a JSON-RPC message, with the `config` of a tool call as its JSON text, as if the caller had sent that text. JavaScript
 * numbers would change a config on its way to Python: `1.0` to `1`, 2^60 + 1 to 2^60. Omits parts that are nested deeper than any
 * message of the protocol, since checking them would overflow the stack.
 *
 * @throws SyntaxError if `text` is not JSON.
 */
export function withConfigTexts(text: string): unknown {
  return bounded(withConfigText(JSON.parse(text), text));
}

/** Far deeper than a message of the protocol without its config. */
const MAX_MESSAGE_DEPTH = 64;

function bounded(value: unknown, deepest = MAX_MESSAGE_DEPTH): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return deepest === 0 ? [] : value.map((part) => bounded(part, deepest - 1));
  const members = deepest === 0 ? [] : Object.entries(value);
  return Object.fromEntries(members.map(([key, part]) => [key, bounded(part, deepest - 1)]));
}

const ARGUMENTS = ["params", "arguments"] as const;

function withConfigText(message: unknown, source: string): unknown {
  const args = ARGUMENTS.reduce(memberOf, message);
  if (memberOf(message, "method") !== "tools/call" || memberOf(args, "config") === undefined) return message;
  let before: string | undefined;
  const texts = memberTexts(
    ARGUMENTS.reduce((text, name) => memberTexts(text).get(name)!, source),
    (key, text) => {
      if (key === "config") before = text;
    },
  );
  const config = texts.get("config")!;
  // A text with both of two configs, which the check of the config refuses as it does over HTTP.
  if (before !== undefined)
    (args as Record<string, unknown>).config = `{"config":${before},"config":${config}}`;
  else if (typeof memberOf(args, "config") !== "string") (args as Record<string, unknown>).config = config;
  return message;
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

/**
 * Splits a JSON object into the texts of its members, without white space around them. For a repeated key the last one counts, as in
 * JSON.parse.
 *
 * @param text a valid JSON object; faults are not checked.
 * @param onTwice called with a repeated key and the earlier text.
 */
export function memberTexts(
  text: string,
  onTwice: (key: string, before: string) => void = () => undefined,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let depth = 0;
  let key = "";
  let start = -1;
  let end = 0;
  for (const [index, after] of tokensOf(text)) {
    const token = text[index];
    const closes = token === "}" || token === "]";
    if (depth === 1 && (token === "," || closes)) {
      if (start >= 0) {
        const before = found.get(key);
        if (before !== undefined) onTwice(key, before);
        found.set(key, text.slice(start, end));
      }
      start = -1;
    } else if (depth === 1 && token === ":") {
      key = JSON.parse(text.slice(start, end)) as string;
      start = -1;
    } else if (depth === 1 && start < 0) {
      start = index;
    }
    if (token === "{" || token === "[") depth += 1;
    else if (closes) depth -= 1;
    end = after;
  }
  return found;
}

const TOKEN = /["{}[\]:,]|[^\s{}[\]:,"]+/g;

/** The start and end of each token. A regular expression for whole strings would overflow its stack at millions of escapes. */
function* tokensOf(text: string): Generator<readonly [index: number, end: number]> {
  const token = new RegExp(TOKEN);
  for (let found = token.exec(text); found; found = token.exec(text)) {
    if (found[0] === '"') token.lastIndex = endOfString(text, token.lastIndex);
    yield [found.index, token.lastIndex];
  }
}

/** @param start after the opening quote. @returns after the closing one. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - 1 - backslashes] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}
