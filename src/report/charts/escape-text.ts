import { escapeHtml } from "../../contract/escape-html.ts";
import { shortVisibleText, visibleText } from "../../contract/visible-text.ts";

/** Hostile text as HTML or SVG text, or as an attribute's value: escaped, and with what cannot be seen by its number. */
export function escapeText(text: string): string {
  return escapeHtml(visibleText(text));
}

/** The same, of at most `most` characters; the last one stands for what is left out. */
export function escapeShortText(text: string, most: number): string {
  return escapeHtml(shortVisibleText(text, most));
}
