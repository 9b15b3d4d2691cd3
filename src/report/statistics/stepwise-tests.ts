import { NEWEY_WEST_LAG } from "../../evaluate/newey-west.ts";
import { mean } from "../../evaluate/statistics.ts";
import { dateT } from "../../evaluate/verdict/date-t.ts";
import type { Resamples } from "./block-bootstrap.ts";

/** The values of one hypothesis by date: chance gives a mean of 0. */
export interface TestedSeries {
  /** Shape (n), the same dates for all; NaN on a date on which there is none. */
  readonly values: Float64Array;
  /** The typical size of the terms that a value is made of: smaller differences are rounding. */
  readonly scale: number;
}

/** A test that allows for those beside it. */
export interface AdjustedTest {
  /** Newey-West, lag 5. Null without a variance, infinite where all dates agree. */
  readonly t: number | null;
  /** The adjusted p: a test that fails at 0.05 belongs to a family in which chance alone fails any in 5 %. Null without a t. */
  readonly p: number | null;
}

/** `above`: a mean above 0 counts as evidence; `apart`: one on either side. */
export type Sides = "above" | "apart";

/**
 * Tests of several means with their number counted: the stepwise procedure of Romano and Wolf (2005, "Stepwise multiple testing as
 * formalized data snooping", studentised) with the adjusted p of Romano and Wolf (2016). The largest t is held against the largest of
 * all resampled t's, the next one against the largest of the others, and so on. Each resampled t has an error of its own, by the formula
 * of the t, so that it is as wide over few dates as the fixed-b quantile (Gonçalves and Vogelsang 2011).
 * @param resamples of the n dates.
 */
export function stepwiseTests(
  series: readonly TestedSeries[],
  resamples: Resamples,
  sides: Sides,
): AdjustedTest[] {
  const sized = (t: number) => (sides === "above" ? t : Math.abs(t));
  const ts = series.map(({ values, scale }) => dateT(known(values), scale));
  const finite = ts.flatMap((t, k) => (t !== null && Number.isFinite(t) ? [k] : []));
  // The largest first.
  finite.sort((a, b) => sized(ts[b]!) - sized(ts[a]!) || a - b);
  const p = finite.length === 0 ? [] : stepwiseP(finite, (k) => sized(ts[k]!));
  return ts.map((t, k) => ({ t, p: t === null ? null : (p[finite.indexOf(k)] ?? (sized(t) > 0 ? 0 : 1)) }));

  function stepwiseP(order: readonly number[], of: (k: number) => number): number[] {
    const exceeded = new Float64Array(order.length);
    const centres = order.map((k) => mean(known(series[k]!.values)));
    for (const drawn of resamples) {
      let largest = Number.NEGATIVE_INFINITY;
      for (let step = order.length - 1; step >= 0; step--) {
        const { values } = series[order[step]!]!;
        largest = Math.max(largest, sized(resampledT(values, drawn, centres[step]!)));
        if (largest >= of(order[step]!)) exceeded[step]!++;
      }
    }
    let before = 0;
    return Array.from(exceeded, (count) => {
      before = Math.max(before, (count + 1) / (resamples.length + 1));
      return before;
    });
  }
}

function known(values: Float64Array): Float64Array {
  return values.filter((value) => !Number.isNaN(value));
}

/** Reused by every draw. */
let buffer = new Float64Array(0);

/**
 * The Newey-West t of the resampled values against the mean of all values; 0 without a variance. The sum of the autocovariances in
 * Bartlett weights is that of the squared sums of lag + 1 successive deviations, divided by lag + 1.
 */
function resampledT(values: Float64Array, drawn: Int32Array, centre: number): number {
  if (buffer.length < drawn.length) buffer = new Float64Array(drawn.length);
  const taken = buffer;
  let [n, sum] = [0, 0];
  for (let i = 0; i < drawn.length; i++) {
    const value = values[drawn[i]!]!;
    if (Number.isNaN(value)) continue;
    taken[n++] = value;
    sum += value;
  }
  const average = sum / n;
  const width = NEWEY_WEST_LAG + 1;
  let [window, squares] = [0, 0];
  for (let i = 0; i < n + NEWEY_WEST_LAG; i++) {
    if (i < n) window += taken[i]! - average;
    if (i >= width) window -= taken[i - width]! - average;
    squares += window * window;
  }
  const variance = squares / width;
  return variance > 0 ? ((average - centre) * n) / Math.sqrt(variance) : 0;
}
