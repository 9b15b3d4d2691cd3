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
import type { RefitBlock } from "./refit-blocks.ts";
import type { LabelledRows, RelativeTarget } from "./relative-target.ts";
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
 * @param blocks of the other tickers, ascending.
 * @param features those that it may have; undefined: all. One with the name of a z-score is left out.
 * @returns undefined where it has enough at none.
 */
export function joinLateTicker(
  input: TickerInput,
  blocks: readonly RefitBlock[],
  peers: Peers,
  features?: ReadonlySet<string>,
): TickerPanel | undefined {
  const scores = new Set([...(peers.counts?.numbers.keys() ?? [])].map(zScoreName));
  const names = input.features.columns.filter((name) => (features?.has(name) ?? true) && !scores.has(name));
  const own =
    names.length === input.features.columns.length
      ? input
      : { ...input, features: only(input.features, new Set(names)) };
  const { days } = input.prices;
  for (const { known } of blocks) {
    // One more price than labels.
    if (known === undefined || days.length <= MIN_FIT_ROWS || days[MIN_FIT_ROWS]! > known) continue;
    const panel = panelAt(own, known, peers);
    if (panel !== undefined) return panel;
  }
  return undefined;
}

function only({ columns, values, days, ...others }: TickerFeatures, names: ReadonlySet<string>) {
  const n = days.length;
  const kept = [...columns.keys()].filter((c) => names.has(columns[c]!));
  const taken = new Float64Array(kept.length * n);
  for (const [to, from] of kept.entries()) taken.set(values.subarray(from * n, (from + 1) * n), to * n);
  return { ...others, days, columns: kept.map((c) => columns[c]!), values: taken };
}

/** The panel with `joins` as its cut; undefined where its fit rows are too few. */
function panelAt(input: TickerInput, joins: Day, { counts, ...peers }: Peers): TickerPanel | undefined {
  const read = shortOr(() => buildTickerPanel({ ...input, window: { ...input.window, cut: joins } }));
  if (read === undefined) return undefined;
  const scored = counts === undefined ? read : withRows(read, rowsWithZScores(read, counts));
  const relative = peers.targetsOf?.(scored);
  const fit =
    relative === undefined ? scored.fit : scored.fit.filter((row) => !Number.isNaN(relative.values[row]!));
  if (fit.length < MIN_FIT_ROWS) return undefined;
  // A row dated before whose label comes out after is neither.
  const score = scored.score.filter((row) => scored.days[row]! >= joins);
  const kept = Int32Array.from([...scored.days.keys()]).filter(
    (row) => row <= scored.fit.at(-1)! || scored.days[row]! >= joins,
  );
  const { x, ...joined } = withRows({ ...scored, fit, score, joins }, kept);
  const names = counts === undefined ? [] : joined.columns.filter((name) => counts.numbers.has(name));
  return {
    ...joined,
    ...(relative === undefined ? {} : { relative: targetsOn(relative, kept) }),
    ...(counts === undefined ? {} : { columns: [...joined.columns, ...names.map(zScoreName)] }),
    ...(counts === undefined ? {} : { zScores: names.length, lastRowDay: read.days.at(-1)! }),
    x: peers.besideZScores?.({ columns: joined.columns, days: joined.days, x }) ?? x,
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
  const k = panel.columns.length;
  const x = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) x.set(panel.x.subarray(from * k, (from + 1) * k), to * k);
  return { ...onRows(panel, rows), x };
}

function targetsOn({ values, widths, levels }: RelativeTarget, rows: Int32Array): RelativeTarget {
  const taken = (of: Float64Array) => Float64Array.from(rows, (row) => of[row]!);
  return { values: taken(values), widths: taken(widths), levels };
}
