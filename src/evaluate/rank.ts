/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n).
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact. If a value is NaN, there is no order, and every
 * rank is NaN, as in scipy.
 */
export function averageRanks(values: Float64Array): Float64Array {
  const ranks = new Float64Array(values.length);
  if (values.some(Number.isNaN)) return ranks.fill(Number.NaN);
  const order = ascendingOrder(values);
  // Of tied values, `below` others are smaller and `upTo` are not larger: their ranks are below + 1 ... upTo.
  for (let below = 0, upTo = 1; below < order.length; below = upTo++) {
    const value = values[order[below]!]!;
    while (upTo < order.length && values[order[upTo]!] === value) upTo++;
    for (let i = below; i < upTo; i++) ranks[order[i]!] = (below + 1 + upTo) / 2;
  }
  return ranks;
}

/** Runs of this length are sorted by insertion, which is faster than merging them. */
const RUN = 8;

/**
 * The indices of values in ascending order, ties by index: a merge sort of indices. `sort` with a comparison takes twice as long.
 * @param values shape (n), none NaN.
 * @returns shape (n).
 */
function ascendingOrder(values: Float64Array): Uint32Array {
  let sorted = new Uint32Array(values.length);
  let merged = new Uint32Array(values.length);
  for (let start = 0; start < values.length; start += RUN) insertRun(values, sorted, start);
  for (let width = RUN; width < values.length; width *= 2) {
    for (let start = 0; start < values.length; start += 2 * width) {
      mergeRuns(values, sorted, merged, start, width);
    }
    [sorted, merged] = [merged, sorted];
  }
  return sorted;
}

/** Writes the indices from `start` on, ascending by value. */
function insertRun(values: Float64Array, into: Uint32Array, start: number): void {
  const end = Math.min(start + RUN, values.length);
  for (let i = start; i < end; i++) {
    const value = values[i]!;
    let to = i;
    for (; to > start && values[into[to - 1]!]! > value; to--) into[to] = into[to - 1]!;
    into[to] = i;
  }
}

/** Merges two sorted runs of `width` indices, the second perhaps shorter, into the same range of `into`. */
function mergeRuns(
  values: Float64Array,
  from: Uint32Array,
  into: Uint32Array,
  start: number,
  width: number,
): void {
  const middle = Math.min(start + width, values.length);
  const end = Math.min(middle + width, values.length);
  let [left, right] = [start, middle];
  for (let to = start; to < end; to++) {
    const takesLeft = right === end || (left < middle && values[from[left]!]! <= values[from[right]!]!);
    into[to] = takesLeft ? from[left++]! : from[right++]!;
  }
}
