import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { type ArrayRef, readNpyRows, writeNpy } from "../../engine/npy.ts";
import type { Permutation } from "../../engine/pool/protocol.ts";
import { clusterFeatures, rankDistances } from "../../evaluate/feature-clusters.ts";
import { permutationImportance } from "../../evaluate/permutation-importance.ts";
import type { OrderForm } from "../../evaluate/verdict/order.ts";
import { zScoreName } from "../../panel/cross-section.ts";
import { uniteFeatures } from "../../panel/feature-union.ts";
import type { PooledPlan } from "../../panel/pooled-plan.ts";
import type { ModelledTicker } from "../shared/modelled-ticker.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import type { FitPanel } from "../shared/panels.ts";
import type { PlannedFit } from "./fits.ts";

/** Features that are shuffled together, because they say nearly the same. */
export interface FeatureGroup {
  readonly features: readonly string[];
  /** The mean |rank correlation| between the two parts that were merged last; absent for a single feature. */
  readonly correlation?: number;
}

/** More features than this have more pairs than is reasonable to compare. */
const MAX_FEATURES = 1_000;

/** Rows of all tickers together that are read for the correlations. */
const MAX_SAMPLE_ROWS = 20_000;

/** Sample rows times pairs of features, which takes about a second. */
const MAX_PRODUCTS = 2e8;

/** Fewer rows of a ticker say little about correlations. */
const MIN_TICKER_ROWS = 20;

/**
 * Groups the features of all tickers by the rank correlations of their fit rows. A feature and its z-score are always together.
 * @param isPooled compares rows of different tickers, as a pooled fit does; otherwise only those of the same ticker.
 * @returns groups and their features in the order of the columns.
 * @throws MucastError too_large for more than MAX_FEATURES features.
 */
export function groupFeatures(panels: readonly FitPanel[], isPooled: boolean): FeatureGroup[] {
  const learning = panels
    .filter(({ joins }) => joins === undefined)
    .sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { names, columns } = uniteFeatures(learning);
  const k = names.length;
  if (k > MAX_FEATURES) {
    const message = `importance compares at most ${MAX_FEATURES} features, and the tickers have ${k}: reduce the features, or set importance to false`;
    throw new MucastError("too_large", message);
  }
  const rows = Math.min(MAX_SAMPLE_ROWS, Math.floor(MAX_PRODUCTS / ((k * (k + 1)) / 2)));
  const perTicker = Math.max(MIN_TICKER_ROWS, Math.floor(rows / Math.max(1, learning.length)));
  const every = Math.ceil((learning.length * perTicker) / rows);
  const samples = learning.flatMap((panel, j) =>
    j % every === 0 ? [sampleRows(panel, columns[j]!, k, perTicker)] : [],
  );
  const scores = new Set(
    learning.flatMap((panel) => panel.columns.slice(panel.columns.length - (panel.zScores ?? 0))),
  );
  const pairs = names.flatMap((name, column): [number, number][] => {
    const score = zScoreName(name);
    return !scores.has(name) && scores.has(score) ? [[column, names.indexOf(score)]] : [];
  });
  const clusters = clusterFeatures(rankDistances(samples, k, isPooled), k, pairs);
  return clusters.map((cluster) => ({
    ...cluster,
    features: cluster.features.map((column) => names[column]!),
  }));
}

/** Shape (rows, k): evenly spaced fit rows of a ticker, in the columns of all tickers. */
function sampleRows(
  { x, fit, columns: { length: width } }: FitPanel,
  columns: readonly number[],
  k: number,
  most: number,
): Float64Array {
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

/** The columns of each group that a matrix has. @param ticker decides the order; empty for a pooled fit. */
export function permutationOf(
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  ticker = "",
): Permutation {
  const positions = new Map(columns.map((name, column) => [name, column]));
  return {
    groups: groups.map(({ features }) => features.flatMap((name) => positions.get(name) ?? [])),
    seed: [...Buffer.from(ticker)],
  };
}

/** A fold whose rows get values of any row that its model may know: those that it trains on and tests. */
export function withKnownRows(fold: PlannedFit): PlannedFit {
  return { ...fold, pool: [fold.train[0], fold.predict[1]] };
}

interface PooledShuffle {
  readonly form: OrderForm;
  readonly permutation: Permutation & { readonly strata: ArrayRef };
  /** A fold with the rows whose values its test rows get. */
  withPool(fold: PlannedFit): PlannedFit;
}

/**
 * Values move among the tickers of a test date, or, if few dates have enough tickers to judge an order across them, among the dates of a ticker.
 * @param columns of the matrix. @throws MucastError output_failed if the work folder's disk is full.
 */
export function shufflePooled(
  { members, learnRows }: PooledPlan,
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  workFolder: string,
): PooledShuffle {
  const tickers = new Map<number, number>();
  for (const { panel, folds } of members) {
    for (const { testStart, testEnd } of folds) {
      for (const row of panel.fit.subarray(testStart, testEnd)) {
        const day = panel.days[row]!;
        tickers.set(day, (tickers.get(day) ?? 0) + 1);
      }
    }
  }
  const wide = [...tickers.values()].filter((count) => count >= MIN_ORDER_TICKERS);
  const form = wide.length >= MIN_DATES ? "cross_section" : "time_series";
  // The stratum of each row that some fit learns from: its date or its ticker.
  const strata = new Float64Array(learnRows);
  for (const [ticker, { panel, learn, places }] of members.entries()) {
    for (const [position, row] of learn.entries())
      strata[places[position]!] = form === "cross_section" ? panel.days[row]! : ticker;
  }
  const ref = writeNpy(join(workFolder, "pooled-strata.npy"), strata, [learnRows]);
  return {
    form,
    permutation: { ...permutationOf(groups, columns), strata: ref },
    withPool: form === "cross_section" ? (fold) => ({ ...fold, pool: fold.predict }) : withKnownRows,
  };
}

/**
 * The member `permutation_importance` of an output: the largest loss first.
 * @param fitted tickers whose folds have shuffled the features of these groups.
 * @param shuffled the form of order for which a pooled fit shuffled them.
 */
export function importanceOf(
  fitted: readonly ModelledTicker[],
  groups: readonly FeatureGroup[],
  shuffled?: OrderForm,
): OrderedJson {
  const tested = fitted.filter(({ heldOut }) => heldOut.days.length > 0);
  const found = permutationImportance(
    tested.map(({ heldOut }) => heldOut),
    groups.map((_, g) => tested.map(({ permuted }) => permuted![g]!)),
    shuffled,
  );
  const { groups: losses, form, dates, figure, quantile, method } = found;
  const named = groups.map(({ features, correlation }, g) => {
    const { loss, t } = losses[g]!;
    return { features, ...(correlation === undefined ? {} : { correlation }), loss, t };
  });
  named.sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0));
  return { form, dates, figure, quantile, method, groups: named };
}
