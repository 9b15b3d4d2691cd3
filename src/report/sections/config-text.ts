/** Beyond this many characters, one line of JSON is hard to read. */
const MAX_LINE = 80;

/** Strings, punctuation, and what is between them. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/gs;

/**
 * The JSON text of a config as a person would write it: text with line breaks is unchanged, and one long line gets line breaks and
 * indents between its tokens. Lists without objects stay on one line.
 */
export function configText(text: string): string {
  if (text.includes("\n") || text.length <= MAX_LINE) return text;
  const tokens = text.match(TOKENS) ?? [];
  const lines = [""];
  let depth = 0;
  let flat = 0;
  const add = (part: string) => {
    lines[lines.length - 1] += part;
  };
  const breakLine = () => lines.push("  ".repeat(depth));
  for (const [i, token] of tokens.entries()) {
    const isEmpty = /^[[{]$/.test(token) && /^[\]}]$/.test(tokens[i + 1] ?? "");
    if (token === "[" && (flat > 0 || isFlat(tokens, i))) flat++;
    if (flat > 0 || isEmpty) add(token === "," ? ", " : token);
    else if (token === "{" || token === "[") {
      add(token);
      depth++;
      breakLine();
    } else if (token === "}" || token === "]") {
      const closesEmpty = /^[[{]$/.test(tokens[i - 1] ?? "");
      if (!closesEmpty) {
        depth = Math.max(0, depth - 1);
        breakLine();
      }
      add(token);
    } else if (token === ",") {
      add(token);
      breakLine();
    } else add(token === ":" ? ": " : token);
    if (token === "]" && flat > 0) flat--;
  }
  return lines.join("\n");
}

/** Whether a list has no objects. @param from the position of its opening bracket. */
function isFlat(tokens: readonly string[], from: number): boolean {
  let depth = 0;
  for (let i = from; i < tokens.length; i++) {
    if (tokens[i] === "{") return false;
    if (tokens[i] === "[") depth++;
    if (tokens[i] === "]" && --depth === 0) return true;
  }
  return false;
}
