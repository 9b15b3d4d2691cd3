import type { VNode } from "preact";
import { shortVisibleText, visibleText } from "../contract/visible-text.ts";
import { html } from "./html.ts";

/**
 * Untrusted text, such as the name of a ticker or a blob. Invisible characters appear as their code points, and right-to-left text
 * does not move its neighbours.
 * @param most characters; the title then has the whole text, up to 1000 characters.
 */
export function bdi(text: string, most?: number): VNode {
  const whole = visibleText(text);
  const short = most === undefined ? whole : shortVisibleText(text, most);
  return html`<bdi title=${short === whole ? undefined : shortVisibleText(text, 1_000)}>${short}</bdi>`;
}

/** The same for a name of the API. */
export function code(text: string): VNode {
  return html`<code>${bdi(text, 200)}</code>`;
}

/** Untrusted sentences, in which dates do not break across lines. */
export function sentence(text: string): (string | VNode)[] {
  const parts = visibleText(text).split(/\b(\d{4}-\d{2}-\d{2})\b/);
  return parts.map((part, i) => (i % 2 === 1 ? html`<span class="date">${part}</span>` : part));
}

/** The same for a sentence of the service, in which names in backquotes are code. */
export function prose(text: string, most: number): VNode[] {
  const parts = shortVisibleText(text, most).split("`");
  return parts.map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`<bdi>${part}</bdi>`));
}

const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A time in the reader's time zone; the title has it in UTC. */
export function moment(iso: string): VNode {
  return html`<time datetime=${iso} title=${`${iso} (UTC)`}>${MOMENT.format(new Date(iso))}</time>`;
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

/** A duration in its two largest units, such as `3 min 5 s`; below ten seconds with one decimal. */
export function duration(milliseconds: number): string {
  const span = Math.max(0, milliseconds);
  if (span < 10 * SECOND) return `${(span / SECOND).toFixed(1)} s`;
  const whole = Math.round(span / SECOND) * SECOND;
  if (whole < MINUTE) return `${whole / SECOND} s`;
  const [large, small, words] =
    whole < HOUR
      ? [MINUTE, SECOND, ["min", "s"]]
      : whole < DAY
        ? [HOUR, MINUTE, ["h", "min"]]
        : [DAY, HOUR, ["d", "h"]];
  const rest = Math.floor((whole % large) / small);
  return `${Math.floor(whole / large)} ${words[0]}${rest === 0 ? "" : ` ${rest} ${words[1]}`}`;
}

/** Bytes in a decimal unit, with at most three digits before the unit. */
export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = count < 1_000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${power === 0 ? value : value.toPrecision(3)} ${units[power]}`;
}
