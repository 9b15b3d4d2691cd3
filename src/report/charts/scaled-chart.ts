import { extent } from "d3-array";

/** A chart that can share its scale with others, so that charts side by side can be compared at a glance. */
export interface ScaledChart {
  /** The lowest and the highest value of its own scale; empty without values. */
  readonly extent: readonly number[];
  /** SVG. @param within further values that the scale contains. */
  readonly draw: (within: readonly number[]) => string;
}

/** @param values NaN is ignored. */
export function extentOf(values: Iterable<number>): readonly number[] {
  const [low, high] = extent(values);
  return low === undefined ? [] : [low, high];
}
