/** Bin i contains values in [edges[i], edges[i + 1]); the last bin includes its upper edge. */
export interface Histogram {
  readonly edges: Float64Array;
  readonly counts: Int32Array;
}

const MAX_BINS = 40;

/** Values that differ by less than this share of their size are equal up to rounding; values smaller than the second are 0. */
const SAME = 1e-9;
const MIN_SIZE = 1e-300;

/**
 * Bins with one round width, 1, 2 or 5 times a power of ten, about as many as the rule of Freedman and Diaconis (1981) gives: a width
 * of 2 IQR / n^(1/3). Values that are equal up to rounding share one bin around them; without values there is no bin.
 * @param values finite.
 */
export function histogram(values: Float64Array): Histogram {
  const n = values.length;
  if (n === 0) return { edges: new Float64Array(0), counts: new Int32Array(0) };
  const sorted = values.slice().sort();
  const [low, high] = [sorted[0]!, sorted[n - 1]!];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > SAME * size && size > MIN_SIZE)) {
    const half = size / 2 || 0.5;
    return { edges: Float64Array.of(low - half, high + half), counts: Int32Array.of(n) };
  }
  if (!Number.isFinite(high - low)) return { edges: Float64Array.of(low, high), counts: Int32Array.of(n) };
  const spread = sorted[Math.floor(0.75 * (n - 1))]! - sorted[Math.floor(0.25 * (n - 1))]!;
  const minWidth = Math.max((2 * spread) / Math.cbrt(n), (high - low) / MAX_BINS);
  const edges = roundEdges(low, high, minWidth);
  const counts = new Int32Array(edges.length - 1);
  let bin = 0;
  for (const value of sorted) {
    while (bin < counts.length - 1 && value >= edges[bin + 1]!) bin++;
    counts[bin]!++;
  }
  return { edges, counts };
}

/** Multiples of a round width of at least `asked`, from at or below `low` to at or above `high`. */
function roundEdges(low: number, high: number, minWidth: number): Float64Array {
  const power = 10 ** Math.floor(Math.log10(minWidth));
  const width = power * [1, 2, 5, 10].find((step) => step * power >= minWidth * (1 - 1e-9))!;
  const first = Math.floor(low / width);
  const last = Math.max(first + 1, Math.ceil(high / width));
  return Float64Array.from({ length: last - first + 1 }, (_, i) => (first + i) * width);
}
