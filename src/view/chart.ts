import type { VNode } from "preact";
import { html } from "./html.ts";
import { GRID, gridX, gridY, type Point, polyline } from "./path.ts";

/** Lines over whole numbers, such as epochs. */
interface LineChart {
  /** What it shows, in a sentence: its accessible name. */
  readonly name: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Null is a gap. The first line is solid, the second dashed. */
  readonly lines: readonly (readonly { readonly x: number; readonly y: number | null }[])[];
  /** The place of a vertical mark. */
  readonly at?: number | undefined;
}

/** CSS pixels: the marks stretch with the page, the text does not. */
const HEIGHT = 220;

export function lineChart({ name, xTitle, yTitle, lines, at }: LineChart): VNode {
  const points = lines.flat();
  const [firstX, lastX] = ends(points.map(({ x }) => x));
  const [least, most] = ends(points.flatMap(({ y }) => y ?? []));
  // A small margin, so that no line touches the frame; flat lines are in the middle.
  const margin = most > least ? 0.04 * (most - least) : Math.max(Math.abs(least) / 2, 0.5);
  const [low, high] = [least - margin, most + margin];
  const across = (x: number) => gridX((x - firstX) / Math.max(1, lastX - firstX));
  const down = (y: number) => gridY((y - low) / (high - low));
  const levels = ticksWithin(low, high);
  const texts = tickTexts(levels);
  return html`<svg class="chart" role="img" aria-label=${name} height=${HEIGHT}>
    <svg class="marks" viewBox=${`0 0 ${GRID} ${GRID}`} preserveAspectRatio="none" width="100%" height=${HEIGHT}>
      ${levels.map((y) => html`<path class="grid" d=${`M0 ${down(y)}H${GRID}`} />`)}
      ${at !== undefined && html`<path class="at" d=${`M${across(at)} 0V${GRID}`} />`}
      ${lines.map(
        (line, i) =>
          html`<path class=${i === 0 ? "line" : "line second"} d=${polyline(
            line.map(({ x, y }): Point | null => (y === null ? null : [across(x), down(y)])),
          )} />`,
      )}
    </svg>
    ${levels.map((y, i) => html`<text class="y" x="-8" y=${`${down(y) / 10}%`} dy="0.32em">${texts[i]}</text>`)}
    <text class="start" x="0" y=${HEIGHT + 18}>${firstX}</text>
    ${lastX > firstX && html`<text class="end" x="100%" y=${HEIGHT + 18}>${lastX}</text>`}
    <text x="50%" y=${HEIGHT + 18}>${xTitle}</text>
    <text class="start" x="-50" y="-6">${yTitle}</text>
  </svg>`;
}

function ends(values: readonly number[]): readonly [low: number, high: number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return low > high ? [0, 1] : [low, high];
}

/** The labels of ticks, with as many decimals each as the longest one needs. */
export function tickTexts(ticks: readonly number[]): readonly string[] {
  const plain = ticks.map(String);
  if (plain.some((text) => text.includes("e"))) return ticks.map((tick) => tick.toExponential());
  const decimals = Math.max(0, ...plain.map((text) => text.split(".")[1]?.length ?? 0));
  return ticks.map((tick) => tick.toFixed(decimals));
}

/** Multiples of 1, 2 or 5 times a power of ten: the step closest to four steps, by its ratio, as d3-array chooses it. */
export function ticksWithin(low: number, high: number): readonly number[] {
  const wanted = (high - low) / 4;
  const power = Math.floor(Math.log10(wanted));
  const ratio = wanted / 10 ** power;
  const factor = ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.SQRT2 ? 2 : 1;
  const step = factor * 10 ** power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
