/**
 * The text of one part of a JSON object or array, as it is written there, without the space around.
 *
 * @param text valid JSON; this does not look for faults.
 * @param name a key, of which the last one counts as it does for JSON.parse, or an index.
 * @returns undefined where there is no such part.
 */
export function partText(text: string, name: string | number): string | undefined {
  let found: string | undefined;
  let depth = 0;
  let key: string | number = 0;
  let start = -1;
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    if (depth === 1 && (token === "," || closes)) {
      if (start >= 0 && key === name) found = text.slice(start, end);
      if (typeof key === "number") key += 1;
      start = -1;
    } else if (depth === 1 && token === ":") {
      key = JSON.parse(text.slice(start, end)) as string;
      start = -1;
    } else if (depth === 1 && start < 0) {
      start = index;
    }
    if (token === "{" || token === "[") depth += 1;
    else if (closes) depth -= 1;
    end = index + token.length;
  }
  return found;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
