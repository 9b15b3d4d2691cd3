import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import type { TickerFeatures } from "../contract/market/ticker-series.ts";
import {
  type FeatureCounts,
  type FeatureRows,
  hasZScore,
  onRows,
  rowsWithZScores,
  zScoreName,
} from "./cross-section.ts";
import { labelPrices, NO_LABEL_DAY } from "./labels.ts";
import { priceDates } from "./price-dates.ts";
import { countBefore, type RefitBlock } from "./refit-blocks.ts";
import type { LabelledRows, RelativeTarget } from "./relative-target.ts";
import { joinRows } from "./rows.ts";
import { buildTickerPanel, MIN_FIT_ROWS, type TickerInput, type TickerPanel } from "./ticker-panel.ts";

/** The tickers that take part from the cut, which a late ticker is compared with. It does not count in their comparisons. */
export interface Peers {
  /** With `cross_section`: how many of them have a row with each scored feature. */
  readonly counts?: FeatureCounts;
  /** The features of rows, then their z-scores; absent where only names are planned. */
  readonly besideZScores?: (rows: FeatureRows) => Float64Array;
  /** With `target` `relative`. */
  readonly targetsOf?: (rows: Omit<LabelledRows, "fit">) => RelativeTarget;
}

/** Codes of errors that say that a ticker has too few fit rows. */
const SHORT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["insufficient_history", "sparse_prices"]);

/** Whether an error costs a ticker that may have enough fit rows at a later cut. */
export function isShort(error: unknown): error is MucastError {
  return error instanceof MucastError && SHORT_CODES.has(error.code);
}

/**
 * The panel of a ticker with too few fit rows at the cut: it joins at the first block whose first date, as the cut, gives it MIN_FIT_ROWS fit
 * rows. Nothing after that date decides about it, and no score row is dated before.
 *
 * The work grows with the values of the ticker and with the number of blocks, and not with their product.
 * @param blocks of the other tickers, ascending.
 * @param features those that it may have; undefined: all. One with the name of a z-score is left out.
 * @returns undefined where it has enough at none.
 */
export function* joinLateTicker(
  input: TickerInput,
  blocks: readonly RefitBlock[],
  peers: Peers,
  features?: ReadonlySet<string>,
): Pausable<TickerPanel | undefined> {
  const own = withFeaturesOf(input, peers, features);
  const { labelDays, fitRows } = yield* countFitRows(own, peers);
  const joins = blocks.find(
    ({ known }) => known !== undefined && fitRows[countBefore(labelDays, known + 1)]! >= MIN_FIT_ROWS,
  );
  return joins === undefined ? undefined : panelAt(own, joins.known!, peers);
}

interface FitRowCounts {
  /** Shape (n), ascending: label dates of the rows that have a label. */
  readonly labelDays: Int32Array;
  /** Shape (n + 1): how many fit rows the ticker has where the labels of its first 0, 1, … rows are known. */
  readonly fitRows: Int32Array;
}

/**
 * Counts the fit rows at every cut in one pass over the features. Each cut knows the labels of the first m rows, for some m. A feature takes part
 * from the cut on that knows a row with a value of it. So row i is a fit row at the cuts with i < m <= until(i): `until` is the smallest m at which
 * a feature that the row lacks takes part. The count may fall from a cut to the next.
 */
function* countFitRows(input: TickerInput, { counts, targetsOf }: Peers): Pausable<FitRowCounts> {
  const { features } = input;
  const { days, labelDays, y, featureRows } = labelledRows(input);
  yield 0;
  const n = days.length;
  const until = new Int32Array(n).fill(n);
  let firstFeature = n;
  for (const [c, name] of features.columns.entries()) {
    const base = c * features.days.length;
    const values = features.values.subarray(base, base + features.days.length);
    const first = featureRows.findIndex((row) => Number.isFinite(values[row]!));
    if (first < 0) continue;
    firstFeature = Math.min(firstFeature, first);
    for (let i = 0; i < n; i++) {
      const isComplete =
        Number.isFinite(values[featureRows[i]!]!) &&
        (counts === undefined || hasZScore(name, days[i]!, counts));
      if (!isComplete) until[i] = Math.min(until[i]!, first);
    }
    yield 0;
  }
  const targets = targetsOf?.({ ticker: input.ticker, days, labelDays, y }).values ?? y;
  for (const [i, target] of targets.entries()) if (Number.isNaN(target)) until[i] = 0;
  // Without a single feature there is nothing to learn from.
  return { labelDays, fitRows: countRanges(until).fill(0, 0, firstFeature + 1) };
}

/** Shape (n) each: the rows of a ticker that have a label, complete or not. */
function labelledRows({ prices, features, window }: TickerInput) {
  const priced = priceDates(prices, window);
  const labels = labelPrices(priced.days, priced.prices);
  const joined = joinRows(priced.days, features.days);
  const isLabelled = (row: number) => labels.labelDays[joined.price[row]!] !== NO_LABEL_DAY;
  const rows = Int32Array.from(joined.price.keys()).filter(isLabelled);
  const priceRows = rows.map((row) => joined.price[row]!);
  return {
    days: priceRows.map((p) => priced.days[p]!),
    labelDays: priceRows.map((p) => labels.labelDays[p]!),
    y: Float64Array.from(priceRows, (p) => labels.y[p]!),
    featureRows: rows.map((row) => joined.feature[row]!),
  };
}

/** Shape (n + 1): for each m, how many i have i < m <= until[i]. @param until shape (n), none above n. */
function countRanges(until: Int32Array): Int32Array {
  const changes = new Int32Array(until.length + 2);
  for (const [i, last] of until.entries()) {
    if (last <= i) continue;
    changes[i + 1]!++;
    changes[last + 1]!--;
  }
  let count = 0;
  return changes.subarray(0, until.length + 1).map((change) => (count += change));
}

/** The ticker with the features that it may have. @param features as of `joinLateTicker`. */
export function withFeaturesOf(
  input: TickerInput,
  peers: Pick<Peers, "counts">,
  features?: ReadonlySet<string>,
): TickerInput {
  const scores = new Set([...(peers.counts?.numbers.keys() ?? [])].map(zScoreName));
  const names = input.features.columns.filter((name) => (features?.has(name) ?? true) && !scores.has(name));
  if (names.length === input.features.columns.length) return input;
  return { ...input, features: only(input.features, new Set(names)) };
}

function only({ columns, values, days, ...others }: TickerFeatures, names: ReadonlySet<string>) {
  const n = days.length;
  const kept = [...columns.keys()].filter((c) => names.has(columns[c]!));
  const taken = new Float64Array(kept.length * n);
  for (const [to, from] of kept.entries()) taken.set(values.subarray(from * n, (from + 1) * n), to * n);
  return { ...others, days, columns: kept.map((c) => columns[c]!), values: taken };
}

/** The panel with `joins` as its cut, without rows that are neither fit rows nor dated from then on; undefined where its fit rows are too few. */
function panelAt(input: TickerInput, joins: Day, peers: Peers): TickerPanel | undefined {
  const panel = latePanelAt(input, joins, peers);
  if (panel === undefined) return undefined;
  const score = panel.score.filter((row) => panel.days[row]! >= joins);
  // A row dated before whose label comes out after is neither.
  const kept = Int32Array.from([...panel.days.keys()]).filter(
    (row) => row <= panel.fit.at(-1)! || panel.days[row]! >= joins,
  );
  const { relative } = panel;
  return {
    ...withRows({ ...panel, score }, kept),
    ...(relative === undefined ? {} : { relative: targetsOn(relative, kept) }),
  };
}

/**
 * The panel of a job with `joins` as its cut. Unlike a panel of `joinLateTicker`, it keeps every row: its score rows begin after the last fit
 * row, and windows of rows have no hole.
 * @param input with the features that it may have: those of `withFeaturesOf`.
 * @returns undefined where its fit rows are too few.
 */
export function latePanelAt(
  input: TickerInput,
  joins: Day,
  { counts, ...peers }: Peers,
): TickerPanel | undefined {
  const read = shortOr(() => buildTickerPanel({ ...input, window: { ...input.window, cut: joins } }));
  if (read === undefined) return undefined;
  const { x, ...scored } = counts === undefined ? read : withRows(read, rowsWithZScores(read, counts));
  const relative = peers.targetsOf?.(scored);
  const fit =
    relative === undefined ? scored.fit : scored.fit.filter((row) => !Number.isNaN(relative.values[row]!));
  if (fit.length < MIN_FIT_ROWS) return undefined;
  const { columns, days } = scored;
  const names = counts === undefined ? [] : columns.filter((name) => counts.numbers.has(name));
  return {
    ...scored,
    ...{ fit, joins },
    ...(relative === undefined ? {} : { relative }),
    ...(counts === undefined ? {} : { columns: [...columns, ...names.map(zScoreName)] }),
    ...(counts === undefined ? {} : { zScores: names.length, lastRowDay: read.days.at(-1)! }),
    x: peers.besideZScores?.({ columns, days, x }) ?? x,
  };
}

function shortOr<T>(body: () => T): T | undefined {
  try {
    return body();
  } catch (error) {
    if (isShort(error)) return undefined;
    throw error;
  }
}

/** The panel with these of its rows, ascending, and their features. */
function withRows(panel: TickerPanel, rows: Int32Array): TickerPanel {
  if (rows.length === panel.days.length) return panel;
  // A panel for a plan has names of z-scores, and no values of them.
  const k = panel.x.length / panel.days.length;
  const x = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) x.set(panel.x.subarray(from * k, (from + 1) * k), to * k);
  return { ...onRows(panel, rows), x };
}

function targetsOn({ values, widths, levels }: RelativeTarget, rows: Int32Array): RelativeTarget {
  const taken = (of: Float64Array) => Float64Array.from(rows, (row) => of[row]!);
  return { values: taken(values), widths: taken(widths), levels };
}
