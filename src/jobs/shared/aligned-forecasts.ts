/** Forecasts on these dates; NaN where there is none. Both lists of dates ascend. */
export function alignedTo(
  days: Int32Array,
  own: { readonly days: Int32Array; readonly predicted: Float64Array } | undefined,
): Float64Array {
  const aligned = new Float64Array(days.length).fill(Number.NaN);
  if (own === undefined) return aligned;
  let at = 0;
  for (const [row, day] of days.entries()) {
    while (at < own.days.length && own.days[at]! < day) at++;
    if (own.days[at] === day) aligned[row] = own.predicted[at]!;
  }
  return aligned;
}
