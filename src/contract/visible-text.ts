/**
 * Characters that are invisible or reorder their neighbours: controls, unpaired surrogates, line separators, and what Unicode lets a font
 * ignore, such as zero-width, bidirectional and filling characters, variation selectors and tags; and the spaces that HTML drops, so that `
 * ` and `A ` are not mistaken for an empty name and `A`.
 */
const UNSEEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|^\p{Zs}|\p{Zs}$|(?<=\p{Zs})\p{Zs}/gu;

/** Hostile text with each invisible character replaced by its number, such as `[U+202E]`. Not escaped. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSEEN, codePoint);
}

function codePoint(mark: string): string {
  return `[U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** In lines whose spaces are all displayed, an ordinary space and a tab hide nothing. */
const UNSEEN_IN_LINES =
  /(?![\t])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** The same for text of several lines that is displayed with all its spaces. */
export function visibleLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.replaceAll(UNSEEN_IN_LINES, codePoint))
    .join("\n");
}

/** The same, with at most `most` characters; the last one stands for the omitted rest. */
export function shortVisibleText(text: string, most: number): string {
  const characters = [...visibleText(text)];
  return characters.length <= most ? characters.join("") : `${characters.slice(0, most - 1).join("")}\u2026`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark]!);
}
