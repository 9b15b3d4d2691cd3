import { neweyWestError } from "../../evaluate/newey-west.ts";
import { mean } from "../../evaluate/statistics.ts";
import { dateT } from "../../evaluate/verdict/date-t.ts";
import { type Resamples, resampledMean } from "./block-bootstrap.ts";

/** The values of one hypothesis by date: by chance alone their mean is 0. */
export interface TestedSeries {
  /** Shape (n), the same dates for all; NaN on a date without a value. */
  readonly values: Float64Array;
  /** The typical size of the terms of a value: smaller differences are rounding. */
  readonly scale: number;
}

/** A test that accounts for the tests beside it. */
export interface AdjustedTest {
  /** Newey-West, lag 5. Null without a variance, infinite if all dates are equal. */
  readonly t: number | null;
  /** The adjusted p: if tests reject at 0.05, chance alone rejects any test of the family in 5 % of cases. Null without a t. */
  readonly p: number | null;
}

/** `above`: a mean above 0 counts as evidence; `apart`: a mean on either side does. */
export type Alternative = "above" | "apart";

/**
 * Tests of several means that account for their number: the stepwise procedure of Romano and Wolf (2005, "Stepwise multiple testing
 * as formalized data snooping", studentised) with the adjusted p of Romano and Wolf (2016). The largest t is compared with the
 * largest of all resampled t's, the next one with the largest of the others, and so on. Each resampled t has its own error, by the
 * formula of the t, so that over few dates it is as wide as the fixed-b quantile (Gonçalves and Vogelsang 2011).
 * @param resamples of the n dates.
 */
export function stepwiseTests(
  series: readonly TestedSeries[],
  resamples: Resamples,
  sides: Alternative,
): AdjustedTest[] {
  const sized = (t: number) => (sides === "above" ? t : Math.abs(t));
  const ts = series.map(({ values, scale }) => dateT(known(values), scale, neweyWestError));
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
        const { average, error } = resampledMean(values, drawn);
        largest = Math.max(largest, error > 0 ? sized((average - centres[step]!) / error) : 0);
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
