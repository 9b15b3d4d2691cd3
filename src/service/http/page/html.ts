import { escapeHtml } from "../../../contract/visible-text.ts";

/** Text that is HTML; `html` inserts it without escaping. */
export interface Html {
  readonly html: string;
}

type Part = string | number | Html | undefined | readonly (Html | undefined)[];

/** A template tag that escapes each inserted value, unless the value is Html. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const text = pieces.reduce((before, piece, index) => `${before}${written(parts[index - 1])}${piece}`);
  return { html: text };
}

function written(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escapeHtml(String(part));
  return "html" in part ? part.html : part.map(written).join("");
}
