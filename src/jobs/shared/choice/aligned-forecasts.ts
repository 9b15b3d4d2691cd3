import type { Levels } from "../../../evaluate/levels.ts";

export interface DatedPredictions {
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /** Shape (n). */
  readonly predicted: Float64Array;
  /** What they start from. */
  readonly spans: Levels;
}

/** Forecasts on these dates; NaN where there is none. Without a copy if the dates are the same array. @param days ascending. */
export function alignedTo(days: Int32Array, own: DatedPredictions | undefined): Float64Array {
  if (own?.days === days) return own.predicted;
  const aligned = new Float64Array(days.length).fill(Number.NaN);
  if (own === undefined) return aligned;
  let at = 0;
  for (const [row, day] of days.entries()) {
    while (at < own.days.length && own.days[at]! < day) at++;
    if (own.days[at] === day) aligned[row] = own.predicted[at]!;
  }
  return aligned;
}
