import { scaleUtc } from "d3-scale";
import { type Day, formatDay, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { escapeHtml, shortVisibleText, visibleText } from "../../contract/visible-text.ts";
import { COMPARED_FORMATS, type Unit } from "../../view/figures.ts";
import { GRID, gridX, gridY, segment } from "../../view/path.ts";
import type { Scale } from "./scale.ts";

/** A label at an axis. */
export interface AxisLabel {
  /** Share of the axis, from the left or from the bottom. */
  readonly at: number;
  readonly text: string;
  /** Hidden on narrow screens. */
  readonly isSpare?: boolean;
}

/** A chart: marks on a grid that stretches, and text beside it that does not. */
interface Plot {
  /** What the chart says, in one sentence; its accessible name. */
  readonly finding: string;
  /** Its SVG elements on the grid, with classes of the style sheet. */
  readonly marks: readonly string[];
  readonly xLabels: readonly AxisLabel[];
  readonly yLabels: readonly AxisLabel[];
  /** SVG text on top of the marks. */
  readonly labels?: string;
  /** CSS pixels. */
  readonly height: number;
  /** Classes of the style sheet: with `rows`, there is space for the names of rows on the left. */
  readonly kind?: string;
  /** Attributes that the script reads for its readout. */
  readonly readout?: string;
}

/** The page decides width and colours. The height is fixed, so that a chart fits any width without a script. */
export function plotSvg({
  finding,
  marks,
  xLabels,
  yLabels,
  labels: words = "",
  height,
  kind = "chart",
  readout,
}: Plot): string {
  return `<svg class="${kind}" role="img" aria-label="${escapeText(finding)}" height="${height}"${readout ?? ""}>
<svg class="marks" viewBox="0 0 ${GRID} ${GRID}" width="100%" height="100%" preserveAspectRatio="none">${marks.join("")}</svg>
${xLabels.map(xLabel).join("")}${yLabels.map(yLabel).join("")}${words}</svg>`;
}

function xLabel({ at, text, isSpare }: AxisLabel): string {
  const edge = at > 0.97 ? ' class="end"' : at < 0.02 ? ' class="start"' : "";
  const kind = isSpare ? ' class="spare"' : edge;
  return `<text x="${percent(at)}" y="100%" dy="1.3em"${kind}>${escapeText(text)}</text>`;
}

function yLabel({ at, text }: AxisLabel): string {
  return `<text class="y" x="-6" y="${percent(1 - at)}" dy=".35em">${escapeText(text)}</text>`;
}

/** A share in SVG notation. */
function percent(share: number): string {
  return `${Number((100 * share).toFixed(2))}%`;
}

/** A path with a class of the style sheet. */
export function mark(kind: string, path: string, name?: string): string {
  if (path === "") return "";
  return `<path class="${kind}"${name === undefined ? "" : ` data-name="${escapeText(name)}"`} d="${path}"/>`;
}

/** Horizontal lines at the ticks of the y axis; the line at 0 is stronger. */
export function yGrid(scale: Scale): string {
  const lines = scale.ticks.filter((tick) => tick !== 0).map((tick) => horizontalLine(scale, tick));
  const zero = scale.low <= 0 && scale.high >= 0 ? mark("zero", horizontalLine(scale, 0)) : "";
  return mark("grid", lines.join("")) + zero;
}

function horizontalLine(scale: Scale, value: number): string {
  const y = gridY(scale.share(value));
  return segment(0, y, GRID, y);
}

/** Vertical lines at the ticks of the x axis; the line at 0 is stronger. */
export function xGrid(scale: Scale): string {
  const lines = scale.ticks.filter((tick) => tick !== 0).map((tick) => verticalLine(scale, tick));
  const zero = scale.low <= 0 && scale.high >= 0 ? mark("zero", verticalLine(scale, 0)) : "";
  return mark("grid", lines.join("")) + zero;
}

function verticalLine(scale: Scale, value: number): string {
  const x = gridX(scale.share(value));
  return segment(x, 0, x, GRID);
}

/** Labels for the ticks of a scale, with as many digits as their step needs. */
export function tickLabels(scale: Scale, unit: Unit): AxisLabel[] {
  return scale.ticks.map((tick) => ({ at: scale.share(tick), text: tickText(tick, scale.step, unit) }));
}

/** How the numbers of an axis are written; their decimals come from its step. */
interface AxisFormat {
  readonly factor: number;
  readonly symbol: string;
  /** Whether a positive value has a sign. */
  readonly isSigned: boolean;
}

const SHARES: AxisFormat = { factor: 100, symbol: "%", isSigned: false };
const PLAIN: AxisFormat = { factor: 1, symbol: "", isSigned: false };

export const AXIS_FORMATS: Readonly<Record<Unit, AxisFormat>> = {
  ...COMPARED_FORMATS,
  number: PLAIN,
  count: PLAIN,
  share: SHARES,
  return: { ...SHARES, isSigned: true },
};

function tickText(value: number, step: number, unit: Unit): string {
  const { factor, symbol, isSigned } = AXIS_FORMATS[unit];
  const end = symbol === "" ? "" : `\u202f${symbol}`;
  if (value === 0) return `0${end}`;
  const digits = Math.max(0, -Math.floor(Math.log10(step * factor) + 1e-9));
  const size = Math.abs(value * factor);
  const amount =
    size >= 1e6 ? size.toExponential(1) : digits > 6 ? size.toExponential(0) : size.toFixed(digits);
  const sign = value < 0 ? "\u2212" : isSigned ? "+" : "";
  return `${sign}${amount}${end}`;
}

/** Untrusted text, escaped as HTML or SVG text or as an attribute value. Invisible characters appear as their code points. */
export function escapeText(text: string): string {
  return escapeHtml(visibleText(text));
}

/** Like `escapeText`, shortened to `most` characters, the last of which stands for the omitted text. */
export function escapeShortText(text: string, most: number): string {
  return escapeHtml(shortVisibleText(text, most));
}

/** In characters: a name may be of any length. */
const MAX_TOOLTIP = 100;

/** The name of a row, as SVG text at a share of the height. A shortened one has the whole as its tooltip. */
export function rowName(name: string, at: number, most: number, before = ""): string {
  const short = escapeShortText(name, most);
  const whole = escapeShortText(name, MAX_TOOLTIP);
  const tooltip = short === whole ? "" : `<title>${whole}</title>`;
  return `<text class="y" x="-6" y="${percent(at)}" dy=".35em">${tooltip}${before}${short}</text>`;
}

/** The maximum number of labels on a time axis. */
const MAX_LABELS = 6;

/** The starts of months, quarters or years between two days; for a span without two such starts, its two ends. */
export function timeLabels(first: Day, last: Day): AxisLabel[] {
  if (first === last) return [{ at: 0.5, text: formatDay(first) }];
  const scale = scaleUtc([first * MILLISECONDS_PER_DAY, last * MILLISECONDS_PER_DAY], [0, 1]);
  const starts = monthStarts(scale);
  if (starts.length < 2) {
    return [
      { at: 0, text: formatDay(first) },
      { at: 1, text: formatDay(last) },
    ];
  }
  const isYearly = starts.every((date) => date.getUTCMonth() === 0);
  return starts.map((date, i) => ({
    at: scale(date),
    text: date.toISOString().slice(0, isYearly ? 4 : 7),
    isSpare: !isYearly && starts.length > 4 && i % 2 === 1,
  }));
}

/** As many labels as there is space for. */
function monthStarts(scale: ReturnType<typeof scaleUtc<number>>): Date[] {
  for (let count = MAX_LABELS; count > 0; count--) {
    const ticks = scale.ticks(count);
    if (ticks.length <= MAX_LABELS && ticks.every((date) => date.getUTCDate() === 1)) return ticks;
  }
  return [];
}
