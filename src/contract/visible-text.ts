/**
 * Characters that are invisible or reorder their neighbours: controls, unpaired surrogates, line separators, and what Unicode lets a font
 * ignore, such as zero-width, bidirectional and filling characters, variation selectors and tags; and the spaces that HTML drops, so that `
 * ` and `A ` are not mistaken for an empty name and `A`.
 */
const UNSEEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|^\p{Zs}|\p{Zs}$|(?<=\p{Zs})\p{Zs}/gu;

/** Hostile text with each invisible character replaced by its number, such as `[U+202E]`. Not escaped. */
export function visibleText(text: string): string {
  return text.replaceAll(
    UNSEEN,
    (mark) => `[U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
  );
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

/** Escapes text for HTML or SVG, including quoted attribute values. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark]!);
}
