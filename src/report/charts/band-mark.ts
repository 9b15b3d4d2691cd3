import type { Band } from "../data/report-data.ts";
import { dot, GRID, gridX, segment } from "./path.ts";
import { mark } from "./plot.ts";
import { linearScale } from "./scale.ts";

/** A number with its band and its reference, on one line without labels: the text is beside it. */
export function bandMark(value: number, band: Band | null, reference: number | null): string {
  const known = [
    value,
    ...(band === null ? [] : [band.low, band.high]),
    ...(reference === null ? [] : [reference]),
  ];
  const scale = linearScale(known.length === 1 ? [0, value] : known);
  const at = (number: number) => gridX(scale.share(number));
  const middle = GRID / 2;
  const marks = [
    mark("grid", segment(0, middle, GRID, middle)),
    reference === null ? "" : mark("level", segment(at(reference), 0, at(reference), GRID)),
    band === null ? "" : mark("interval", segment(at(band.low), middle, at(band.high), middle)),
    mark("dot", dot(at(value), middle)),
  ];
  return `<svg class="strip" aria-hidden="true" height="22"><svg class="marks" viewBox="0 0 ${GRID} ${GRID}" width="100%" height="100%" preserveAspectRatio="none">${marks.join("")}</svg></svg>`;
}
