/** The middle of many courses, epoch by epoch; shape (epochs) each. */
interface CourseFan {
  readonly low: Float64Array;
  readonly lowerQuarter: Float64Array;
  readonly median: Float64Array;
  readonly upperQuarter: Float64Array;
  readonly high: Float64Array;
}

/**
 * The quantiles of courses at 5, 25, 50, 75 and 95 % for the epochs that at least half of them have reached: later ones would show only
 * the few that train longest. Values that are not finite are left out; an epoch without others is NaN.
 */
export function courseFan(courses: readonly Float64Array[]): CourseFan {
  const lengths = courses.map(({ length }) => length).sort((a, b) => b - a);
  const epochs = lengths[Math.ceil(lengths.length / 2) - 1] ?? 0;
  const sorted = Array.from({ length: epochs }, (_, epoch) =>
    Float64Array.from(
      courses.flatMap((course) => (Number.isFinite(course[epoch]) ? course[epoch]! : [])),
    ).sort(),
  );
  const at = (share: number) => Float64Array.from(sorted, (values) => quantileOf(values, share));
  return {
    low: at(0.05),
    lowerQuarter: at(0.25),
    median: at(0.5),
    upperQuarter: at(0.75),
    high: at(0.95),
  };
}

/** With linear interpolation. @param sorted ascending. */
export function quantileOf(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  return below + (place - Math.floor(place)) * (above - below);
}
