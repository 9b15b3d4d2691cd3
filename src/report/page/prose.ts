import { escapeText } from "../charts/escape-text.ts";

/** Sentences as HTML, whose dates are not broken at the end of a line. */
export function prose(text: string): string {
  return escapeText(text).replaceAll(/\b\d{4}-\d{2}-\d{2}\b/g, '<span class="date">$&</span>');
}
