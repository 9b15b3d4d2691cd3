import { escapeText } from "../charts/escape-text.ts";

/** Sentences as HTML in which dates do not break across lines. */
export function prose(text: string): string {
  return escapeText(text).replaceAll(/\b\d{4}-\d{2}-\d{2}\b/g, '<span class="date">$&</span>');
}
