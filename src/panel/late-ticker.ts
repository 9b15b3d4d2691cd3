import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { Day } from "../contract/market/dates.ts";
import type { TickerFeatures } from "../contract/market/ticker-series.ts";
import {
  type FeatureCounts,
  type FeatureRows,
  onRows,
  rowsWithZScores,
  zScoreName,
} from "./cross-section.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { laterRows, type RefitBlock } from "./refit-blocks.ts";
import type { LabelledRows, RelativeTarget } from "./relative-target.ts";
import { countBefore } from "./rows.ts";
import {
  buildTickerPanel,
  MIN_FIT_ROWS,
  type PanelRows,
  type TickerInput,
  type TickerPanel,
} from "./ticker-panel.ts";
import { MIN_TRAINING_SAMPLES } from "./window-plan.ts";

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

/** What a late ticker needs to take part. */
export interface JoinRule {
  /** The allowed features; undefined for all. One with the name of a z-score is omitted. */
  readonly features?: ReadonlySet<string> | undefined;
  /** The rows of a window, for networks: they need MIN_TRAINING_SAMPLES windows. Undefined for regressors. */
  readonly lookback?: number | undefined;
}

/**
 * The panel of a ticker with too few fit rows at the cut: it joins at the first block whose first date, as the cut, gives it enough. Nothing
 * after that date affects this, and no score row of a regressor is dated before it.
 * @param blocks of the other tickers, ascending.
 * @returns undefined if it has enough at none.
 */
export function joinLateTicker(
  input: TickerInput,
  blocks: readonly RefitBlock[],
  peers: Peers,
  { features, lookback }: JoinRule = {},
): TickerPanel | undefined {
  const own = withFeaturesOf(input, peers, features);
  for (const { known } of blocks) {
    const panel = known === undefined ? undefined : latePanelAt(own, known, peers);
    if (panel === undefined) continue;
    // Windows of rows have no hole.
    if (lookback === undefined) return withoutUnusedRows(panel);
    if (hasTrainingWindows(panel, lookback)) return panel;
  }
  return undefined;
}

/** The panel with its fit rows as of `joins`; its score rows begin on the last label date that is known then. */
export function joiningAt<P extends PanelRows>(panel: P, joins: Day): P {
  const { fit, score, days, labelDays } = panel;
  const learnedBy = labelDays.findLast((day) => day !== NO_LABEL_DAY && day <= joins) ?? NO_LABEL_DAY;
  return {
    ...panel,
    fit: Int32Array.from([...fit, ...laterRows(panel, joins)]),
    score: score.filter((row) => days[row]! >= learnedBy),
    joins,
  };
}

/** Whether the models of a late ticker have something to forecast: its prices may end before it joins. @param lookback 1 for regressors. */
export function hasLateForecasts(
  { days, score, joins }: Pick<PanelRows, "days" | "score" | "joins">,
  lookback = 1,
): boolean {
  const last = score.at(-1);
  return last !== undefined && last >= lookback - 1 && days[last]! >= (joins ?? days[last]!);
}

/** Whether a network could train on enough windows if all of them were in its training part. */
export function hasTrainingWindows({ fit }: Pick<PanelRows, "fit">, lookback: number): boolean {
  return fit.length >= MIN_TRAINING_SAMPLES && fit[fit.length - MIN_TRAINING_SAMPLES]! >= lookback - 1;
}

/** The ticker with the allowed features. @param features as for `joinLateTicker`. */
function withFeaturesOf(
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

/** Without the rows that are neither fit rows nor dated from when it joins: their label is known only later. */
function withoutUnusedRows(panel: TickerPanel): TickerPanel {
  const { days, fit, relative } = panel;
  const joins = panel.joins!;
  const score = panel.score.filter((row) => days[row]! >= joins);
  const kept = Int32Array.from(days.keys()).filter((row) => row <= fit.at(-1)! || days[row]! >= joins);
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
  if (countBefore(input.prices.days, joins) < MIN_FIT_ROWS) return undefined;
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
