import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
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
import type { RefitBlock } from "./refit-blocks.ts";
import type { LabelledRows, RelativeTarget } from "./relative-target.ts";
import { countBefore, joinRows } from "./rows.ts";
import {
  buildTickerPanel,
  MIN_FIT_ROWS,
  scoreRows,
  type TickerInput,
  type TickerPanel,
} from "./ticker-panel.ts";

/** The tickers that take part from the cut, with which a late ticker is compared. It does not affect their comparisons. */
export interface Peers {
  /** With `cross_section`: how many of them have a row with each scored feature. */
  readonly counts?: FeatureCounts;
  /** The features of rows, then their z-scores; absent if only names are planned. */
  readonly besideZScores?: (rows: FeatureRows) => Float64Array;
  /** With `target` `relative`. */
  readonly targetsOf?: (rows: Omit<LabelledRows, "fit">) => RelativeTarget;
}

const SHORT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["insufficient_history", "sparse_prices"]);

/** Whether an error removes a ticker that may have enough fit rows at a later cut. */
export function isShort(error: unknown): error is MucastError {
  return error instanceof MucastError && SHORT_CODES.has(error.code);
}

/**
 * The panel of a ticker with too few fit rows at the cut: it joins at the first block whose first date, as the cut, gives it MIN_FIT_ROWS fit
 * rows. Nothing after that date affects this, and no score row is dated before it.
 *
 * The work grows with the values of the ticker and with the number of blocks, but not with their product.
 * @param blocks of the other tickers, ascending.
 * @param features the allowed ones; undefined for all. One with the name of a z-score is omitted.
 * @returns undefined if it has enough at none.
 */
export function joinLateTicker(
  input: TickerInput,
  blocks: readonly RefitBlock[],
  peers: Peers,
  features?: ReadonlySet<string>,
): TickerPanel | undefined {
  const own = withFeaturesOf(input, peers, features);
  const { labelDays, fitRows } = countFitRows(own, peers);
  const joins = blocks.find(
    ({ known }) => known !== undefined && fitRows[countBefore(labelDays, known + 1)]! >= MIN_FIT_ROWS,
  );
  return joins === undefined ? undefined : panelAt(own, joins.known!, peers);
}

interface FitRowCounts {
  /** Shape (n), ascending: label dates of the rows that have a label. */
  readonly labelDays: Int32Array;
  /** Shape (n + 1): how many fit rows the ticker has if the labels of its first 0, 1, … rows are known. */
  readonly fitRows: Int32Array;
}

/** Counts the fit rows at every cut in one pass over the features. The count may fall from one cut to the next. */
function countFitRows(input: TickerInput, peers: Peers): FitRowCounts {
  const { labelDays, labelled, learnUntil, firstFeature } = rowsOverCuts(input, peers);
  const until = labelled.map((row) => learnUntil[row]!);
  return {
    labelDays: labelled.map((row) => labelDays[row]!),
    // Without a single feature there is nothing to learn from.
    fitRows: countRanges(until).fill(0, 0, firstFeature + 1),
  };
}

/** The rows of a ticker at all cuts. A cut is the number m of its labels that are known. */
interface RowsOverCuts {
  /** Shape (n) each: all rows with a price and features, complete or not; `labelDays` and `y` as in `TickerPanel`. */
  readonly days: Int32Array;
  readonly labelDays: Int32Array;
  readonly y: Float64Array;
  /** Indices of the labelled rows, ascending. */
  readonly labelled: Int32Array;
  /** The first of the labelled rows with a value of each feature, counted from 0; the number of labelled rows if none has one. */
  readonly firsts: readonly number[];
  /** The smallest of these. */
  readonly firstFeature: number;
  /** Shape (n) each: the largest m at which the row has all features and z-scores; also a target. */
  readonly panelUntil: Int32Array;
  readonly learnUntil: Int32Array;
  /** Shape (price dates), as `labelDays`. */
  readonly pricedLabelDays: Int32Array;
  /** With `target` `relative`. */
  readonly relative: RelativeTarget | undefined;
}

/**
 * A feature takes part from the cut on that knows a row with a value of it. So a row is complete until the smallest m at which a feature that
 * it lacks takes part, and labelled row i is a fit row at the cuts with i < m <= until(i).
 */
function rowsOverCuts(input: TickerInput, { counts, targetsOf }: Peers): RowsOverCuts {
  const { features } = input;
  const { days, labelDays, y, featureRows, pricedLabelDays } = joinedRows(input);
  const labelled = Int32Array.from(days.keys()).filter((row) => labelDays[row] !== NO_LABEL_DAY);
  const panelUntil = new Int32Array(days.length).fill(labelled.length);
  const firsts: number[] = [];
  for (const [c, name] of features.columns.entries()) {
    const base = c * features.days.length;
    const values = features.values.subarray(base, base + features.days.length);
    const found = labelled.findIndex((row) => Number.isFinite(values[featureRows[row]!]!));
    const first = found < 0 ? labelled.length : found;
    firsts.push(first);
    if (found < 0) continue;
    for (let row = 0; row < days.length; row++) {
      const hasValue = Number.isFinite(values[featureRows[row]!]!);
      const isComplete = hasValue && (counts === undefined || hasZScore(name, days[row]!, counts));
      if (!isComplete) panelUntil[row] = Math.min(panelUntil[row]!, first);
    }
  }
  const relative = targetsOf?.({ ticker: input.ticker, days, labelDays, y });
  const targets = relative?.values ?? y;
  return {
    ...{ days, labelDays, y, labelled, firsts, panelUntil, pricedLabelDays, relative },
    firstFeature: firsts.reduce((a, b) => Math.min(a, b), labelled.length),
    learnUntil: panelUntil.map((until, row) => (Number.isNaN(targets[row]!) ? 0 : until)),
  };
}

/** Shape (n) each: the rows of a ticker, complete or not, labelled or not. */
function joinedRows({ prices, features, window }: TickerInput) {
  const priced = priceDates(prices, window);
  const labels = labelPrices(priced.days, priced.prices, window.delay);
  const { price, feature } = joinRows(priced.days, features.days);
  return {
    days: price.map((p) => priced.days[p]!),
    labelDays: price.map((p) => labels.labelDays[p]!),
    y: Float64Array.from(price, (p) => labels.y[p]!),
    featureRows: feature,
    pricedLabelDays: labels.labelDays,
  };
}

export type PlanRows = Pick<
  TickerPanel,
  "ticker" | "columns" | "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins"
>;

/**
 * The rows of the panels of `latePanelAt` at any date, from one pass over the features: the work for a date grows only with the
 * number of rows.
 * @param input with the allowed features.
 * @returns undefined at dates with too few fit rows.
 */
export function lateRows(input: TickerInput, peers: Peers): (joins: Day) => PlanRows | undefined {
  const all = rowsOverCuts(input, peers);
  const { days, labelDays, y, labelled, firsts, panelUntil, learnUntil, pricedLabelDays, relative } = all;
  const knownDays = labelled.map((row) => labelDays[row]!);
  const scored = peers.counts?.numbers;
  return (joins) => {
    const m = countBefore(knownDays, joins + 1);
    const known = labelled.subarray(0, m);
    const learned = known.filter((row) => learnUntil[row]! >= m);
    if (m <= all.firstFeature || learned.length < MIN_FIT_ROWS) return undefined;
    const learnedBy = pricedLabelDays.findLast((day) => day !== NO_LABEL_DAY && day <= joins)!;
    const kept = Int32Array.from(days.keys()).filter((row) => panelUntil[row]! >= m);
    const keptDays = kept.map((row) => days[row]!);
    const columns = input.features.columns.filter((_, c) => firsts[c]! < m);
    const zScores = columns.filter((name) => scored?.has(name)).map(zScoreName);
    return {
      ticker: input.ticker,
      columns: [...columns, ...zScores],
      days: keptDays,
      labelDays: kept.map((row) => labelDays[row]!),
      y: Float64Array.from(kept, (row) => y[row]!),
      ...(relative === undefined ? {} : { relative: targetsOn(relative, kept) }),
      fit: learned.map((row) => countBefore(kept, row)),
      score: scoreRows(keptDays, learnedBy),
      joins,
    };
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

/** The ticker with the allowed features. @param features as for `joinLateTicker`. */
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

/**
 * The panel with `joins` as its cut, without rows that are neither fit rows nor dated from then on; undefined if its fit rows are
 * too few.
 */
function panelAt(input: TickerInput, joins: Day, peers: Peers): TickerPanel | undefined {
  const panel = latePanelAt(input, joins, peers);
  if (panel === undefined) return undefined;
  const score = panel.score.filter((row) => panel.days[row]! >= joins);
  // A row dated before it whose label is known after it is neither.
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
 * The panel of a job with `joins` as its cut. Unlike a panel of `joinLateTicker`, it keeps every row: windows of rows have no hole.
 * @param input with the allowed features, as `withFeaturesOf` gives them.
 * @returns undefined if its fit rows are too few.
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

/** The panel with only the given rows, ascending, and their features. */
function withRows(panel: TickerPanel, rows: Int32Array): TickerPanel {
  if (rows.length === panel.days.length) return panel;
  // A panel for a plan has names of z-scores, but not their values.
  const k = panel.x.length / panel.days.length;
  const x = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) x.set(panel.x.subarray(from * k, (from + 1) * k), to * k);
  return { ...onRows(panel, rows), x };
}

function targetsOn({ values, widths, levels }: RelativeTarget, rows: Int32Array): RelativeTarget {
  const taken = (of: Float64Array) => Float64Array.from(rows, (row) => of[row]!);
  return { values: taken(values), widths: taken(widths), levels };
}
