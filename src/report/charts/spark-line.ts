import { GRID, gridX, gridY, type Point, polyline, segment } from "../../view/path.ts";
import { mark } from "./plot.ts";
import { linearScale } from "./scale.ts";

/** A spark line has this many steps at most, so that a list of many stays small. */
const STEPS = 32;

/** A line without words, with the line of 0: bad if it ends below it. @param values finite; their last one is always drawn. */
export function sparkLine(values: Float64Array): string {
  const last = values.length - 1;
  if (last < 1) return "";
  const steps = Math.min(STEPS, last);
  const shown = Array.from({ length: steps + 1 }, (_, k) => values[Math.round((k * last) / steps)]!);
  const y = linearScale([0, ...shown], 2);
  const points = shown.map((value, k): Point => [gridX(k / steps), gridY(y.share(value))]);
  const zero = gridY(y.share(0));
  const marks = [
    mark("zero", segment(0, zero, GRID, zero)),
    mark(values[last]! < 0 ? "line bad" : "line", polyline(points)),
  ];
  return `<svg class="spark" aria-hidden="true"><svg class="marks" viewBox="0 0 ${GRID} ${GRID}" width="100%" height="100%" preserveAspectRatio="none">${marks.join("")}</svg></svg>`;
}
