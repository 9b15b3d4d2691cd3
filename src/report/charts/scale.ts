import { extent, tickStep, ticks } from "d3-array";
import { scaleLinear } from "d3-scale";

/** A linear scale from values to the share of an axis, 0 at its lower end, with round values as ticks. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  /** Multiples of `step` within the scale, ascending. */
  readonly ticks: readonly number[];
  readonly step: number;
  /** The position of a value: 0 at the lower end, 1 at the upper end; NaN for NaN. */
  readonly share: (value: number) => number;
}

/** Beyond these limits the arithmetic of a scale overflows or underflows; a blob may contain any number. */
const MAX_MAGNITUDE = 1e300;
const MIN_MAGNITUDE = 1e-290;
/** Relative to the size of the values: values that are closer count as one. */
const MIN_SPAN = 1e-9;

/**
 * A scale that contains all values with a small margin, so that no mark touches the frame.
 * @param values NaN is ignored; without values the scale goes from 0 to 1.
 * @param count the approximate number of ticks.
 */
export function linearScale(values: Iterable<number>, count = 4): Scale {
  const [least = 0, most = 1] = extent(values);
  const [low, high] = separateEnds(least, most);
  const margin = 0.04 * (high - low);
  // A side that ends at 0 is the base of bars, so it gets no margin.
  return scaleBetween(low === 0 ? 0 : low - margin, high === 0 ? 0 : high + margin, count);
}

/** A scale from `least` to `most`. @param count the approximate number of ticks. */
export function scaleBetween(least: number, most: number, count: number): Scale {
  const [low, high] = separateEnds(least, most);
  const scale = scaleLinear().domain([low, high]).unknown(Number.NaN);
  const share = (value: number) => scale(bounded(value));
  return { low, high, ticks: ticks(low, high, count), step: tickStep(low, high, count), share };
}

/** The two ends of a scale, far enough apart that there are numbers between them. */
function separateEnds(least: number, most: number): readonly [low: number, high: number] {
  const [low, high] = [bounded(least), bounded(most)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size < MIN_MAGNITUDE) return [low - 0.5, high + 0.5];
  return high - low <= MIN_SPAN * size ? [low - size / 2, high + size / 2] : [low, high];
}

function bounded(value: number): number {
  return Math.min(MAX_MAGNITUDE, Math.max(-MAX_MAGNITUDE, value));
}

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
