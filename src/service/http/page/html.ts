/** Text that is HTML already. */
export interface Html {
  readonly html: string;
}

type Part = string | number | Html | undefined | readonly (Html | undefined)[];

/** HTML in which everything put in between is escaped, unless it is Html itself. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const text = pieces.reduce((before, piece, index) => `${before}${written(parts[index - 1])}${piece}`);
  return { html: text };
}

function written(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escaped(String(part));
  return "html" in part ? part.html : part.map(written).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Text in which what stands in backquotes is code, as descriptions are written. */
export function prose(text: string): Html {
  const parts = text.split("`");
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}
