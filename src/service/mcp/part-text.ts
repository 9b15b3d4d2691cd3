/**
 * The text of each part of a JSON object or array, as it is written there, without the space around: by its key, of
 * which the last one counts as it does for JSON.parse, or by its index. Nothing for other values.
 *
 * @param text valid JSON; this does not look for faults.
 * @param onTwice gets a key that comes again, and the text that counts no more.
 */
export function partTexts(
  text: string,
  onTwice: (key: string | number, before: string) => void = () => undefined,
): ReadonlyMap<string | number, string> {
  const found = new Map<string | number, string>();
  let depth = 0;
  let key: string | number = 0;
  let start = -1;
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    if (depth === 1 && (token === "," || closes)) {
      if (start >= 0) {
        const before = found.get(key);
        if (before !== undefined) onTwice(key, before);
        found.set(key, text.slice(start, end));
      }
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
