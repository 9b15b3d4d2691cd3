import { escapeHtml, shortVisibleText, visibleText } from "../../contract/visible-text.ts";

/** Untrusted text, escaped as HTML or SVG text or as an attribute value. Invisible characters appear as their code points. */
export function escapeText(text: string): string {
  return escapeHtml(visibleText(text));
}

/** Like `escapeText`, shortened to `most` characters, the last of which stands for the omitted text. */
export function escapeShortText(text: string, most: number): string {
  return escapeHtml(shortVisibleText(text, most));
}
