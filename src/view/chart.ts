import type { VNode } from "preact";
import type { Band } from "../contract/output/test-quantile.ts";
import { shortVisibleText, visibleText } from "../contract/visible-text.ts";
import { type Axis, type AxisKind, type AxisLabel, axisFormat, axisOf, extent } from "./axis.ts";
import { html } from "./html.ts";
import { area, box, dot, GRID, gridX, gridY, type Point, polyline, segment } from "./path.ts";

/** A chart: marks in the units of its two axes. A chart with names on its y axis has its first row on top. */
export interface Chart {
  readonly x: AxisKind;
  readonly y: AxisKind;
  readonly marks: readonly (Mark | false)[];
  /** CSS pixels. The width follows the page. */
  readonly height?: number;
}

export interface Mark {
  /** Classes of the style sheet: `line second`. */
  readonly kind: string;
  /** Segments and boxes have two points each, a column of an area its upper and its lower one. */
  readonly shape: "line" | "dots" | "segments" | "boxes" | "area";
  /** NaN is a gap, and infinity the edge of the frame. */
  readonly points: readonly Point[];
  /** What it means, in the key. */
  readonly meaning?: string | undefined;
  /** The name of a line whose values the reader can read off. */
  readonly name?: string;
}

const ROW_HEIGHT = 16;
/** Characters of the name of a row, and of its tooltip. */
const MAX_NAME = 15;
const MAX_TOOLTIP = 100;

/** The values of a line by x; a line may end early. */
export function lineOf(x: ArrayLike<number>, values: ArrayLike<number>): Point[] {
  return Array.from(values, (value, i): Point => [x[i]!, value]);
}

/** The two points of a segment, a box or a column of an area. */
export function pair(x0: number, y0: number, x1: number, y1: number): readonly Point[] {
  return [
    [x0, y0],
    [x1, y1],
  ];
}

/** A horizontal line through the chart, or a vertical one. */
export function level(y: number, meaning?: string): Mark {
  return { kind: "level", shape: "segments", points: pair(-Infinity, y, Infinity, y), meaning };
}

export function vertical(x: number, meaning?: string): Mark {
  return { kind: "at", shape: "segments", points: pair(x, -Infinity, x, Infinity), meaning };
}

/** An area around 0. @param half its height above, by x. */
export function bandAround0(x: ArrayLike<number>, half: Float64Array, meaning: string): Mark {
  const low = half.map((value) => -value);
  return areaOf("band", x, low, half, meaning);
}

export function areaOf(
  kind: string,
  x: ArrayLike<number>,
  low: Float64Array,
  high: Float64Array,
  meaning?: string,
): Mark {
  const points = Array.from(low, (value, i) => pair(x[i]!, high[i]!, x[i]!, value)).flat();
  return { kind, shape: "area", points, meaning };
}

interface Columns {
  readonly base?: number;
  /** Its number among `count` columns side by side. */
  readonly place?: number;
  readonly count?: number;
  readonly meaning: string;
}

/** Columns by name, from a base. */
export function columnsOf(
  kind: string,
  values: readonly (number | null)[],
  { base = 0, place = 0, count = 1, meaning }: Columns,
): Mark {
  const wide = 0.7 / count;
  const points = values.flatMap((value, i) => {
    const left = i + 0.15 + place * wide;
    return value === null ? [] : pair(left, value, left + 0.92 * wide, base);
  });
  return { kind, shape: "boxes", points, meaning };
}

/** Bands over the columns of names. */
export function whiskersOf(bands: readonly (Band | null)[], meaning: string): Mark {
  const points = bands.flatMap((band, i) =>
    band === null ? [] : pair(i + 0.5, band.high, i + 0.5, band.low),
  );
  return { kind: "whisker", shape: "segments", points, meaning };
}

/** Bars of rows. @param values null draws none. */
export function barsOf(kind: string, values: readonly (number | null)[], meaning?: string): Mark {
  const points = values.flatMap((value, i) => (value === null ? [] : pair(0, i + 0.15, value, i + 0.85)));
  return { kind, shape: "boxes", points, meaning };
}

/** The lowest and the highest value of each axis that has values, for charts side by side on one scale. */
export function extentsOf({ x, y, marks }: Chart): {
  readonly x: readonly number[];
  readonly y: readonly number[];
} {
  const ends = (kind: AxisKind, of: 0 | 1) =>
    typeof kind === "object" && "unit" in kind ? (extent(coordinates(presentMarks(marks), of)) ?? []) : [];
  return { x: ends(x, 0), y: ends(y, 1) };
}

const presentMarks = (marks: Chart["marks"]) => marks.filter((mark) => mark !== false);

function* coordinates(marks: readonly Mark[], of: 0 | 1): Iterable<number> {
  for (const { points } of marks) for (const point of points) if (!point.some(Number.isNaN)) yield point[of];
}

/** @param name what it shows, in a sentence: its accessible name. @param within further values of its axes. */
export function chart(
  { x: xKind, y: yKind, marks: optional, height }: Chart,
  name: string,
  within: ReturnType<typeof extentsOf> = { x: [], y: [] },
): VNode {
  const marks = presentMarks(optional);
  const x = axisOf(xKind, [...coordinates(marks, 0), ...within.x]);
  const y = axisOf(yKind, [...coordinates(marks, 1), ...within.y]);
  const rows = typeof yKind === "object" && "names" in yKind ? yKind.names.length : undefined;
  const down = rows === undefined ? (share: number) => gridY(share) : gridX;
  const placed = marks.map(({ kind, name: line, ...mark }) => ({ kind, line, d: pathOf(mark, x, y, down) }));
  const title = typeof yKind === "object" && "title" in yKind && yKind.title;
  return html`<svg class=${rows === undefined ? `chart${title ? " titled" : ""}` : rowsKind(rows)} role="img" aria-label=${visibleText(name)}
    height=${height ?? (rows === undefined ? 160 : Math.max(40, rows * ROW_HEIGHT))} ...${readout(marks, xKind, x, yKind, y)}>
    ${frame(html`${grid(x, (at) => segment(gridX(at), 0, gridX(at), GRID))}
      ${grid(y, (at) => segment(0, gridY(at), GRID, gridY(at)))}
      ${placed.map(({ kind, line, d }) => d !== "" && html`<path class=${kind} data-name=${line} d=${d} />`)}`)}
    ${xLabels(x.labels)}
    ${yLabels(y.labels, rows !== undefined)}
    ${title && html`<text class="start" x="-50" y="-6">${title}</text>`}
  </svg>`;
}

/** Marks on a grid that stretches, while the words beside it do not. */
export function frame(marks: VNode): VNode {
  return html`<svg class="marks" viewBox=${`0 0 ${GRID} ${GRID}`} width="100%" height="100%" preserveAspectRatio="none">${marks}</svg>`;
}

function rowsKind(rows: number): string {
  return rows > 15 ? "chart rows long" : rows < 4 ? "chart rows few" : "chart rows";
}

function pathOf(
  { shape, points }: Pick<Mark, "shape" | "points">,
  x: Axis,
  y: Axis,
  down: (share: number) => number,
): string {
  const share = (axis: Axis, value: number) =>
    Math.abs(value) === Infinity ? Number(value > 0) : axis.share(value);
  const placed = points.map(([across, up]): Point | null =>
    Number.isNaN(across) || Number.isNaN(up) ? null : [gridX(share(x, across)), down(share(y, up))],
  );
  if (shape === "line") return polyline(placed);
  if (shape === "dots") return placed.map((point) => (point === null ? "" : dot(...point))).join("");
  const pairs = placed.flatMap((start, i) => {
    const end = placed[i + 1];
    return i % 2 === 1 || start === null || end == null ? [] : [[start, end] as const];
  });
  if (shape === "area") return area(pairs.map(([[at, top], [, bottom]]) => ({ x: at, top, bottom })));
  return pairs.map(([start, end]) => (shape === "boxes" ? box : segment)(...start, ...end)).join("");
}

/** Lines at the ticks of an axis; the line at 0 is stronger. */
function grid({ lines, share, low, high }: Axis, line: (at: number) => string): VNode | false {
  if (lines.length === 0) return false;
  const thin = lines.filter((tick) => tick !== 0).map((tick) => line(share(tick)));
  return html`<path class="grid" d=${thin.join("")} />${low <= 0 && high >= 0 && html`<path class="zero" d=${line(share(0))} />`}`;
}

const percent = (share: number) => `${Number((100 * share).toFixed(2))}%`;

/** Of many names every second, third, … */
function xLabels(labels: readonly AxisLabel[]): readonly VNode[] {
  const every = Math.ceil(labels.length / 16);
  return labels
    .filter((_, i) => i % every === 0)
    .map(({ at, text, isSpare }, i, { length }) => {
      const edge = at > 0.97 ? "end" : at < 0.02 ? "start" : undefined;
      const kind = isSpare || (length > 8 && i % 2 === 1) ? "spare" : edge;
      return html`<text x=${percent(at)} y="100%" dy="1.3em" class=${kind}>${visibleText(text)}</text>`;
    });
}

function yLabels(labels: readonly AxisLabel[], areNames: boolean): readonly VNode[] {
  const every = Math.ceil(labels.length / 40);
  return labels
    .filter((_, i) => i % every === 0)
    .map(({ at, text }) => {
      const short = shortVisibleText(text, MAX_NAME);
      const whole = shortVisibleText(text, MAX_TOOLTIP);
      return html`<text class="y" x="-6" y=${percent(areNames ? at : 1 - at)}>
        ${short !== whole && html`<title>${whole}</title>`}${short}
      </text>`;
    });
}

/** What the script of the page needs to read values off a line. */
function readout(marks: readonly Mark[], xKind: AxisKind, x: Axis, yKind: AxisKind, y: Axis) {
  if (typeof xKind === "object" || typeof yKind !== "object" || !("unit" in yKind)) return {};
  if (!marks.some(({ name }) => name !== undefined)) return {};
  const { factor, symbol, isSigned } = axisFormat(yKind.unit);
  const brief = (value: number) => Number(value.toPrecision(6));
  return {
    ...{ "data-x": xKind === "days" ? "day" : "epoch", "data-from": x.low, "data-to": x.high },
    ...{ "data-low": brief(y.low), "data-high": brief(y.high) },
    ...{ "data-factor": factor, "data-symbol": symbol, "data-signed": String(isSigned) },
  };
}

export function keyOf(marks: Chart["marks"]): VNode | false {
  const meant = presentMarks(marks).filter(
    ({ meaning, points }) => meaning !== undefined && points.length > 0,
  );
  return (
    meant.length > 0 &&
    html`<ul class="key">${meant.map(
      ({ kind, shape, points, meaning }) => html`<li>
        <svg width="22" height="12" aria-hidden="true"><path class=${kind} d=${swatch(shape, points)} /></svg>${visibleText(meaning!)}
      </li>`,
    )}</ul>`
  );
}

function swatch(shape: Mark["shape"], points: readonly Point[]): string {
  if (shape === "boxes" || shape === "area") return "M2 1h18v10h-18z";
  if (shape === "dots") return "M11 6h0";
  return shape === "segments" && points[0]![0] === points[1]![0] ? "M11 0v12" : "M0 6h22";
}
