import { escapeText } from "../charts/escape-text.ts";
import type { ScaledChart } from "../charts/scaled-chart.ts";
import type { Part } from "../data/report-data.ts";
import { prose } from "./prose.ts";

/** One chart of a section: its title, its finding in words, the chart and its numbers. */
export interface Panel {
  /** With several outputs, panels with the same title are side by side. */
  readonly title: string;
  readonly finding: string;
  /** HTML, or a chart that shares its scale with those beside it. */
  readonly chart: string | ScaledChart;
  /** The key: names of lines and marks, HTML from `keyLine`. */
  readonly key?: string;
  /** HTML from `numbersTable`. */
  readonly numbers?: string;
  /** It takes the whole width. */
  readonly isWide?: boolean;
}

/** The panels of a part, or one panel that says why there are none. */
export function panelsOf<T>(
  title: string,
  part: Part<T>,
  panels: (data: T) => readonly Panel[],
): readonly Panel[] {
  if (part.data !== undefined) return panels(part.data);
  return [{ title, finding: part.absent!, chart: "", isWide: true }];
}

/** @param owner the output's name, if there are several. @param within further values that the scale contains. */
export function panelHtml(
  { title, finding, chart, key = "", numbers = "", isWide }: Panel,
  owner?: string,
  within: readonly number[] = [],
): string {
  const picture = typeof chart === "string" ? chart : chart.draw(within);
  const whose = owner === undefined ? "" : ` <span class="owner"><bdi>${escapeText(owner)}</bdi></span>`;
  const kind = isWide ? ' class="wide"' : "";
  return `<figure${kind}><figcaption><h3>${escapeText(title)}${whose}</h3><p>${prose(finding)}</p>${key}</figcaption>${picture}${numbers}</figure>`;
}

/** The marks of a chart, as the style sheet draws them. */
export type KeyMark =
  | "line"
  | "line second"
  | "line faint"
  | "band"
  | "level"
  | "at"
  | "bar"
  | "bar second"
  | "dot"
  | "dot second"
  | "dot miss"
  | "whisker"
  | "interval"
  | "return"
  | "train";

/** The meaning of the marks of a chart. */
export function keyLine(entries: readonly (readonly [mark: KeyMark, meaning: string])[]): string {
  const items = entries.map(
    ([mark, meaning]) =>
      `<li><svg width="22" height="12" aria-hidden="true">${swatch(mark)}</svg>${escapeText(meaning)}</li>`,
  );
  return `<ul class="key">${items.join("")}</ul>`;
}

function swatch(mark: KeyMark): string {
  const [kind] = mark.split(" ");
  switch (kind) {
    case "band":
    case "bar":
    case "train":
      return `<path class="${mark}" d="M2 1h18v10h-18z"/>`;
    case "dot":
      return `<path class="${mark}" d="M11 6h0"/>`;
    case "at":
    case "return":
    case "whisker":
      return `<path class="${mark}" d="M11 0v12"/>`;
    default:
      return `<path class="${mark}" d="M0 6h22"/>`;
  }
}
