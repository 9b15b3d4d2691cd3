/**
 * The members of an object's JSON text, each with the text of its value as it is written there, so that a part of it
 * can be handed on without a number, a key or its order being changed.
 *
 * @param text an object's JSON, found by `scanJson` to be valid.
 * @returns by key, sliced from `text` without the space around; of a key that stands twice the last one, as JSON.parse.
 */
export function memberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let start = -1;
  let end = -1;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "}" || token === "]") depth -= 1;
    const ends = depth === 0 || (depth === 1 && token === ",");
    if (ends && key !== undefined && start >= 0) {
      members.set(key, text.slice(start, end));
      key = undefined;
      start = -1;
    } else if (depth === 1 && key === undefined && token.startsWith('"')) {
      key = JSON.parse(token) as string;
    } else if (depth > 1 || (depth === 1 && key !== undefined && token !== ":")) {
      if (start < 0) start = index;
    }
    end = index + token.length;
    if (token === "{" || token === "[") depth += 1;
  }
  return members;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
