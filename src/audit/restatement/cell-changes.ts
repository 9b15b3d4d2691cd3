export const Change = {
  same: 0,
  /** Within ROUNDING: computed or printed in another way. */
  rounded: 1,
  /** Another number. */
  rewritten: 2,
  /** It was missing and is now a number. */
  filled: 3,
  /** It was a number and is now missing. */
  erased: 4,
  /** Missing on one side only at its start, because the histories start on different days. */
  warmUp: 5,
  /** Filled at the end of a history whose last rows had no value in any column: the whole ticker came late. */
  late: 6,
} as const;
export type Change = (typeof Change)[keyof typeof Change];

/**
 * The share of the larger magnitude, or of the deviation, that does not count as a change: float32 (6e-8) or another order of
 * summation leaves it. Anything that helps a forecast is far larger.
 */
export const ROUNDING = 1e-7;

/** Calendar days at the end of the earlier blob in which a ticker may come late: markets close on different days. */
export const LATE_DAYS = 10;

/** Which history of a ticker begins first. The later one has the warm-up of its rolling windows on other days. */
export interface HistoryStarts {
  readonly previous: number;
  readonly current: number;
}

/**
 * Compares one column on the days that both histories have.
 * @param before, after shape (m), NaN if missing.
 * @param deviation of `before`, to detect rounding.
 * @param beginnings first day of each history.
 * @returns shape (m), a `Change` for each; undefined if every value is the same, which needs no allocation.
 */
export function cellChanges(
  before: Float64Array,
  after: Float64Array,
  deviation: () => number,
  beginnings: HistoryStarts,
): Uint8Array | undefined {
  const m = before.length;
  const first = firstDifference(before, after);
  if (first === m) return undefined;
  const absolute = ROUNDING * finiteOr0(deviation());
  const changes = new Uint8Array(m);
  for (let i = first; i < m; i++) changes[i] = changeOf(before[i]!, after[i]!, absolute);
  if (beginnings.previous < beginnings.current) markWarmUp(changes, after, Change.erased);
  if (beginnings.current < beginnings.previous) markWarmUp(changes, before, Change.filled);
  return changes;
}

function firstDifference(before: Float64Array, after: Float64Array): number {
  const m = before.length;
  for (let i = 0; i < m; i++) {
    const a = before[i]!;
    const b = after[i]!;
    if (a !== b && !(Number.isNaN(a) && Number.isNaN(b))) return i;
  }
  return m;
}

function changeOf(before: number, after: number, absolute: number): Change {
  if (Number.isNaN(before)) return Number.isNaN(after) ? Change.same : Change.filled;
  if (Number.isNaN(after)) return Change.erased;
  if (before === after) return Change.same;
  const difference = Math.abs(after - before);
  const relative = ROUNDING * Math.max(Math.abs(before), Math.abs(after));
  return difference <= Math.max(absolute, relative) ? Change.rounded : Change.rewritten;
}

/** Changes of `kind` before the first value of the side that warms up. A side without any value does not warm up. */
function markWarmUp(changes: Uint8Array, side: Float64Array, kind: Change): void {
  const end = side.findIndex((value) => !Number.isNaN(value));
  for (let i = 0; i < end; i++) if (changes[i] === kind) changes[i] = Change.warmUp;
}

function finiteOr0(value: number): number {
  return Number.isFinite(value) ? value : 0;
}
