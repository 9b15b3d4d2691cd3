import { extent } from "d3-array";

/** A chart that can be drawn on one scale with others, so that what stands side by side is compared at a glance. */
export interface ScaledChart {
  /** The lowest and the highest value that its own scale holds; empty without values. */
  readonly extent: readonly number[];
  /** SVG. @param within values that the scale holds besides. */
  readonly draw: (within: readonly number[]) => string;
}

/** @param values NaN is no value. */
export function extentOf(values: Iterable<number>): readonly number[] {
  const [low, high] = extent(values);
  return low === undefined ? [] : [low, high];
}
