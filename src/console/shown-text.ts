import { shortVisibleText, visibleText } from "../contract/visible-text.ts";
import { element } from "./dom.ts";

/**
 * Text of others, such as the name of a ticker or of a blob: what cannot be seen stands there by its number, and what is written
 * from right to left moves nothing beside it.
 * @param most characters; the title then has the whole text, of at most 1000.
 */
export function shown(text: string, most?: number): HTMLElement {
  const whole = visibleText(text);
  const short = most === undefined ? whole : shortVisibleText(text, most);
  return element("bdi", short === whole ? {} : { title: shortVisibleText(text, 1_000) }, short);
}

/** The same of a sentence of the service, whose names in backquotes are code. */
export function prose(text: string, most: number): HTMLElement[] {
  const parts = shortVisibleText(text, most).split("`");
  return parts.map((part, i) => element(i % 2 === 1 ? "code" : "bdi", {}, part));
}
