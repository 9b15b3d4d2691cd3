import { type Point, polyline } from "../../../report/charts/path.ts";
import { svgElement } from "../../dom.ts";

/** One line of a chart; null is a gap. */
export interface Line {
  /** A class of the style sheet. */
  readonly kind: "first" | "second";
  readonly values: readonly { readonly x: number; readonly y: number | null }[];
}

/** Pixels; the marks stretch with the page, the text does not. */
const HEIGHT = 220;
const GRID = 1_000;
const TICKS = 4;

/**
 * Lines over whole numbers, such as epochs. Marks lie on a grid that stretches; text is placed beside it in pixels.
 * @param name what the chart shows, in a sentence.
 */
export function lineChart(name: string, lines: readonly Line[]): SVGSVGElement {
  const points = lines.flatMap(({ values }) => values);
  const [firstX, lastX] = extentOf(points.map(({ x }) => x));
  const [low, high] = padded(extentOf(points.flatMap(({ y }) => (y === null ? [] : [y]))));
  const across = (x: number) => Math.round((GRID * (x - firstX)) / Math.max(1, lastX - firstX));
  const down = (y: number) => Math.round(GRID * (1 - (y - low) / (high - low)));
  const levels = ticksWithin(low, high);
  const marks = svgElement(
    "svg",
    {
      class: "marks",
      viewBox: `0 0 ${GRID} ${GRID}`,
      preserveAspectRatio: "none",
      width: "100%",
      height: HEIGHT,
    },
    ...levels.map((y) => svgElement("path", { class: "grid", d: `M0 ${down(y)}H${GRID}` })),
    ...lines.map(({ kind, values }) =>
      svgElement("path", {
        class: `line ${kind}`,
        d: polyline(values.map(({ x, y }): Point | null => (y === null ? null : [across(x), down(y)]))),
      }),
    ),
  );
  const words = [
    ...levels.map((y) =>
      svgElement("text", { class: "y", x: -8, y: `${down(y) / 10}%`, dy: "0.32em" }, String(y)),
    ),
    ...[...new Set([firstX, lastX])].map((x) =>
      svgElement(
        "text",
        { class: x === firstX ? "start" : "end", x: `${across(x) / 10}%`, y: HEIGHT + 18 },
        x,
      ),
    ),
  ];
  return svgElement(
    "svg",
    { class: "chart", role: "img", "aria-label": name, height: HEIGHT },
    marks,
    ...words,
  );
}

function extentOf(values: readonly number[]): readonly [low: number, high: number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [0, 1] : [low, high];
}

/** With a small margin, so that no line touches the frame; flat lines are in the middle. */
function padded([low, high]: readonly [number, number]): readonly [number, number] {
  const margin = high > low ? 0.04 * (high - low) : Math.max(Math.abs(low) / 2, 0.5);
  return [low - margin, high + margin];
}

/** Multiples of 1, 2 or 5 times a power of ten: the step closest to TICKS steps, by its ratio. */
export function ticksWithin(low: number, high: number): readonly number[] {
  const asked = (high - low) / TICKS;
  const power = Math.floor(Math.log10(asked));
  const ratio = asked / 10 ** power;
  const factor = ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.SQRT2 ? 2 : 1;
  const step = factor * 10 ** power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
