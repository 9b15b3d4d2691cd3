import { shortVisibleText, visibleText } from "../contract/visible-text.ts";
import { element } from "./dom.ts";

/**
 * Untrusted text, such as the name of a ticker or a blob. Invisible characters appear as their code points, and right-to-left text
 * does not move its neighbours.
 * @param most characters; the title then has the whole text, up to 1000 characters.
 */
export function shown(text: string, most?: number): HTMLElement {
  const whole = visibleText(text);
  const short = most === undefined ? whole : shortVisibleText(text, most);
  return element("bdi", short === whole ? {} : { title: shortVisibleText(text, 1_000) }, short);
}

/** The same for a sentence of the service, in which names in backquotes are code. */
export function prose(text: string, most: number): HTMLElement[] {
  const parts = shortVisibleText(text, most).split("`");
  return parts.map((part, i) => element(i % 2 === 1 ? "code" : "bdi", {}, part));
}
