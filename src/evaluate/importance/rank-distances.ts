import { averageRanks } from "../rank.ts";

/** Some rows of a ticker: shape (rows, k), row-major; a column of NaN if it lacks a feature. */
export type FeatureSample = Float64Array;

/**
 * 1 - |Spearman's rank correlation| of each pair of features, over the rows of the tickers that have both.
 * @param samples of the same k features.
 * @param together ranks the rows of all samples among each other; otherwise each sample by itself, so that only rows of the same ticker are
 *   compared.
 * @returns shape (k, k), row-major. A feature without two different ranks is at distance 1 from all others.
 */
export function rankDistances(samples: readonly FeatureSample[], k: number, together: boolean): Float64Array {
  const ranked = together ? centredRanks(samples, k) : samples.flatMap((sample) => centredRanks([sample], k));
  const products = new Float64Array(k * k);
  // Of the first feature of each pair, over the rows that have the second.
  const squares = new Float64Array(k * k);
  for (const [s, ranks] of ranked.entries()) {
    const columns = presentColumns(samples[s]!, k);
    const own = new Float64Array(k);
    for (let row = 0; row < ranks.length; row += k) {
      for (const [i, a] of columns.entries()) {
        const value = ranks[row + a]!;
        own[a]! += value * value;
        for (let j = i + 1; j < columns.length; j++) {
          const b = columns[j]!;
          products[a * k + b]! += value * ranks[row + b]!;
        }
      }
    }
    for (const a of columns) for (const b of columns) squares[a * k + b]! += own[a]!;
  }
  const distances = new Float64Array(k * k);
  for (let a = 0; a < k; a++) {
    for (let b = a + 1; b < k; b++) {
      const size = Math.sqrt(squares[a * k + b]! * squares[b * k + a]!);
      const distance = size > 0 ? 1 - Math.abs(products[a * k + b]! / size) : 1;
      distances[a * k + b] = distance;
      distances[b * k + a] = distance;
    }
  }
  return distances;
}

function presentColumns(sample: FeatureSample, k: number): number[] {
  if (sample.length === 0) return [];
  return Array.from({ length: k }, (_, column) => column).filter((column) => !Number.isNaN(sample[column]!));
}

/** For each sample: the ranks of its values in each column among those of all samples, as shares of their number, minus their mean. */
function centredRanks(samples: readonly FeatureSample[], k: number): Float64Array[] {
  const ranked = samples.map((sample) => new Float64Array(sample.length));
  for (let column = 0; column < k; column++) {
    const places: (readonly [sample: number, at: number])[] = [];
    for (const [s, sample] of samples.entries()) {
      for (let at = column; at < sample.length; at += k) if (!Number.isNaN(sample[at]!)) places.push([s, at]);
    }
    const ranks = averageRanks(Float64Array.from(places, ([s, at]) => samples[s]![at]!));
    const centre = (places.length + 1) / 2;
    for (const [i, [s, at]] of places.entries()) ranked[s]![at] = (ranks[i]! - centre) / places.length;
  }
  return ranked;
}
