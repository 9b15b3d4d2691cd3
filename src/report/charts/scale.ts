/** A linear scale from values to the share of an axis, 0 at its lower end, with round values to label. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  /** Multiples of `step` within the scale, ascending. */
  readonly ticks: readonly number[];
  readonly step: number;
}

/** Beyond these the arithmetic of a scale runs over; a blob may hold any number. */
const LARGEST = 1e300;
const SMALLEST = 1e-300;
/** Of its values' size: values that are closer are one. */
const LEAST_SPAN = 1e-9;

/** Where a value lies on its axis: 0 at the lower end, 1 at the upper one. */
export function shareOf({ low, high }: Scale, value: number): number {
  return (value - low) / (high - low);
}

/**
 * A scale that holds all values, wider than them by a little, so that no mark touches the frame.
 * @param values NaN is no value; without any the scale goes from 0 to 1.
 * @param count about how many ticks.
 */
export function linearScale(values: Iterable<number>, count = 4): Scale {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < low) low = Math.max(value, -LARGEST);
    if (value > high) high = Math.min(value, LARGEST);
  }
  if (low > high) [low, high] = [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= LEAST_SPAN * size || size < SMALLEST) {
    const half = size < SMALLEST ? 0.5 : size / 2;
    [low, high] = [low - half, high + half];
  }
  const margin = 0.04 * (high - low);
  // A side that ends at 0 is where bars stand.
  const wide = { low: low === 0 ? 0 : low - margin, high: high === 0 ? 0 : high + margin };
  return { ...wide, ...ticksWithin(wide.low, wide.high, count) };
}

/** Multiples of 1, 2 or 5 times a power of ten: the step nearest to the one asked for, by its ratio. */
function ticksWithin(low: number, high: number, count: number): { ticks: number[]; step: number } {
  const asked = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(asked));
  const ratio = asked / power;
  const step =
    power * (ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.SQRT2 ? 2 : 1);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return { ticks, step };
}
