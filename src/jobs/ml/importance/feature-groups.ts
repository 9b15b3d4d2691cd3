import type { Pausable } from "../../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import { readNpyRows } from "../../../engine/npy.ts";
import { clusterFeatures } from "../../../evaluate/importance/feature-clusters.ts";
import { type FeatureSample, rankDistances } from "../../../evaluate/importance/rank-distances.ts";
import { zScoreName } from "../../../panel/cross-section.ts";
import { uniteFeatures } from "../../../panel/feature-union.ts";
import type { PanelOnDisk } from "../../shared/panel-files.ts";

/** Features that are shuffled together, because they say nearly the same. */
export type FeatureGroup = readonly string[];

/** Rows of all tickers together that are read for the correlations. */
const MAX_SAMPLE_ROWS = 20_000;

/** Sample rows times pairs of features, to bound the time that correlations take to about a second. */
const MAX_PRODUCTS = 1e9;

/**
 * Groups the features of all tickers by the rank correlations of their fit rows. A feature and its z-score are always together.
 * @param isPooled compares rows of different tickers, as a pooled fit does; otherwise only those of the same ticker.
 * @returns groups and their features in the order of the columns.
 */
export function* groupFeatures(panels: readonly PanelOnDisk[], isPooled: boolean): Pausable<FeatureGroup[]> {
  const learning = panels
    .filter(({ joins }) => joins === undefined)
    .sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { names, columns } = uniteFeatures(learning);
  const k = names.length;
  const rows = Math.min(MAX_SAMPLE_ROWS, Math.floor(MAX_PRODUCTS / (k * k)));
  const perTicker = Math.max(2, Math.floor(rows / Math.max(1, learning.length)));
  const samples: FeatureSample[] = [];
  for (const [j, panel] of learning.entries()) {
    yield 0;
    samples.push(sampleOf(panel, columns[j]!, k, perTicker));
  }
  const distances = rankDistances(samples, k, isPooled);
  for (const [column, name] of names.entries()) {
    const score = names.indexOf(zScoreName(name));
    if (score === -1) continue;
    distances[column * k + score] = 0;
    distances[score * k + column] = 0;
  }
  yield 0;
  return clusterFeatures(distances, k).map((group) => group.map((column) => names[column]!));
}

/** Evenly spaced fit rows of a ticker, in the columns of all tickers. */
function sampleOf(
  { x, fit, columns: { length: width } }: PanelOnDisk,
  columns: readonly number[],
  k: number,
  most: number,
): FeatureSample {
  const count = Math.min(most, fit.length);
  const sample = new Float64Array(count * k).fill(Number.NaN);
  if (count === 0) return sample;
  const first = fit[0]!;
  const values = readNpyRows(x, first, fit.at(-1)! + 1);
  for (let i = 0; i < count; i++) {
    const from = (fit[Math.floor((i * fit.length) / count)]! - first) * width;
    for (const [c, column] of columns.entries()) sample[i * k + column] = values[from + c]!;
  }
  return sample;
}

/** The columns of each group in a matrix with these columns; a group that it lacks is empty. */
export function groupColumns(groups: readonly FeatureGroup[], columns: readonly string[]): number[][] {
  const positions = new Map(columns.map((name, column) => [name, column]));
  return groups.map((group) => group.flatMap((name) => positions.get(name) ?? []));
}
