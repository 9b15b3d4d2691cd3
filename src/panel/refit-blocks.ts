import { LIMITS } from "../contract/config/limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { Day } from "../contract/market/dates.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { countBefore } from "./rows.ts";
import { type PanelRows, targetsOf } from "./ticker-panel.ts";

/** Score rows of all tickers that one set of models forecasts. */
export interface RefitBlock {
  /** The date of its first score rows, of any ticker. It ends before the first date of the next block. */
  readonly from: Day;
  /** Its models learn from the labels that are known at this close; undefined for the first block, whose models learn from the fit rows. */
  readonly known: Day | undefined;
}

export const ONE_BLOCK: readonly RefitBlock[] = [{ from: 0, known: undefined }];

type ScoredRows = Pick<PanelRows, "days" | "labelDays" | "fit" | "score">;

/**
 * Cuts the dates that have score rows of any ticker into blocks of `every` dates, counted from the last label date of the fit rows. Earlier
 * score rows, of tickers whose prices have a gap or end there, belong to the first block.
 *
 * Timing: the labels that are known at the close of the first counted date are the labels of the fit rows, so the first block's
 * models are the same as in a job without refits. Every later block's models know the labels of its first date, at whose close
 * its first forecasts are made.
 * @param every undefined for one block.
 * @returns at least one block, ascending; its `from` is 0 if no ticker has a score row.
 * @throws MucastError invalid_request for more than LIMITS.refitBlocks.
 */
export function refitBlocks(panels: readonly ScoredRows[], every: number | undefined): RefitBlock[] {
  const distinct = new Set<Day>();
  let last = Number.NEGATIVE_INFINITY;
  for (const { fit, score, days, labelDays } of panels) {
    for (const row of score) distinct.add(days[row]!);
    if (fit.length > 0) last = Math.max(last, labelDays[fit.at(-1)!]!);
  }
  const dates = Int32Array.from(distinct).sort();
  const first: RefitBlock = { from: dates[0] ?? 0, known: undefined };
  if (every === undefined) return [first];
  const counted = dates.filter((day) => day >= last);
  const blocks = Math.ceil(counted.length / every);
  if (blocks > LIMITS.refitBlocks) throw tooManyBlocks(every, counted.length, blocks);
  const later = counted.filter((_, i) => i > 0 && i % every === 0);
  return [first, ...Array.from(later, (day) => ({ from: day, known: day }))];
}

function tooManyBlocks(every: number, dates: number, blocks: number): MucastError {
  const least = Math.ceil(dates / LIMITS.refitBlocks);
  return new MucastError(
    "invalid_request",
    `refit_every ${every} cuts the ${dates} dates with score rows into ${blocks} blocks, and at most ${LIMITS.refitBlocks} are allowed; set it to ${least} or more`,
    { path: "refit_every", value: every },
  );
}

/** The rows of one ticker that models learn from, over all blocks, and the rows that the models of each block forecast. */
interface TickerBlocks {
  /** Shape (n), ascending: the fit rows, then the later rows whose label some block's models know. */
  readonly learn: Int32Array;
  /** One entry per block. */
  readonly blocks: readonly TickerBlock[];
}

export interface TickerBlock {
  /** Its models may learn from `learn` rows [0, learnEnd): their labels are known. */
  readonly learnEnd: number;
  /** Positions [scoreStart, scoreEnd) in the score rows. */
  readonly scoreStart: number;
  readonly scoreEnd: number;
}

/** @param blocks of the whole job, ascending. A late ticker has no row in blocks before the one that it joins. */
export function tickerBlocks(
  panel: ScoredRows & Pick<PanelRows, "y" | "relative" | "joins">,
  blocks: readonly RefitBlock[],
): TickerBlocks {
  const { fit, score, days, joins } = panel;
  const fitAtCut = joins === undefined ? fit.length : 0;
  const known = blocks.at(-1)!.known;
  const learn = Int32Array.from([...fit, ...(known === undefined ? [] : laterRows(panel, known))]);
  const scoreDays = score.map((row) => days[row]!);
  const knownDays = learnedDays(panel, learn);
  const starts = blocks.map(({ from }, b) => (b === 0 ? 0 : countBefore(scoreDays, from)));
  return {
    learn,
    blocks: blocks.map((block, b) => ({
      learnEnd: block.known === undefined ? fitAtCut : countBefore(knownDays, block.known + 1),
      scoreStart: starts[b]!,
      scoreEnd: starts[b + 1] ?? score.length,
    })),
  };
}

/** The rows after the fit rows from which models may learn at the close of `known`, ascending: with a delay, also some before the score rows. */
function laterRows(panel: Pick<PanelRows, "y" | "relative" | "labelDays" | "fit">, known: Day): Int32Array {
  const targets = targetsOf(panel);
  const last = panel.fit.at(-1) ?? -1;
  return Int32Array.from(targets.keys()).filter(
    (row) => row > last && !Number.isNaN(targets[row]!) && panel.labelDays[row]! <= known,
  );
}

/** The block whose models are the first to learn a ticker's rows: number 0 except for late tickers. */
export function firstBlock({ joins }: Pick<PanelRows, "joins">, blocks: readonly RefitBlock[]): number {
  return joins === undefined ? 0 : blocks.findIndex(({ known }) => known === joins);
}

/** The panel of a ticker that joins at this close: its fit rows are those whose label is known then, its score rows begin on that date. */
export function joinAt<P extends PanelRows>(panel: P, joins: Day): P {
  if (panel.joins === joins) return panel;
  const { fit, score, days } = panel;
  return {
    ...panel,
    fit: Int32Array.from([...fit, ...laterRows(panel, joins)]),
    score: score.filter((row) => days[row]! >= joins),
    joins,
  };
}

/**
 * The close from which models may learn from each of these rows: its label date, but for a late ticker not before it joins.
 * @param rows shape (n); the result likewise.
 */
export function learnedDays(
  { labelDays, joins = Number.NEGATIVE_INFINITY }: Pick<PanelRows, "labelDays" | "joins">,
  rows: Int32Array,
): Int32Array {
  return rows.map((row) => Math.max(labelDays[row]!, joins));
}

type BlockedRows = Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score">;

/**
 * The panels with the rows of one network: `fit` holds the rows that a network of block `learned` learns from, `score` the rows
 * of block `scored`. A network forecasts its own block, or replaces a later block's network.
 */
export type RowsByBlock<P> = (learned: number, scored: number) => P[];

/**
 * The rows of the networks of each block.
 *
 * Timing: a network of a later block learns from all rows whose label is known at the close of the block's first date, and one of
 * the first block from the fit rows. With a window, it learns only from the last `window` distinct label dates of these rows,
 * over all given panels. A late ticker has no rows to learn from, and its dates do not count, before the block that it joins.
 * @param panels of the tickers that one network learns from: one, or all.
 * @param blocks of `refitBlocks`, ascending.
 */
export function rowsByBlock<P extends BlockedRows>(
  panels: readonly P[],
  blocks: readonly RefitBlock[],
  window: number | undefined,
): RowsByBlock<P> {
  const own = panels.map((panel) => ({ panel, ...tickerBlocks(panel, blocks) }));
  const firstLabelDay = windowStart(own, window);
  return (learned, scored) =>
    own.map(({ panel, learn, blocks: ofTicker }) => {
      const known = learn.subarray(0, ofTicker[learned]!.learnEnd);
      const { scoreStart, scoreEnd } = ofTicker[scored]!;
      const from = firstLabelDay(learned);
      const start = from === NO_LABEL_DAY ? 0 : countBefore(labelDaysOf(panel, known), from);
      return { ...panel, fit: known.subarray(start), score: panel.score.subarray(scoreStart, scoreEnd) };
    });
}

interface LearnedRows {
  readonly panel: BlockedRows;
  readonly learn: Int32Array;
  readonly blocks: readonly { readonly learnEnd: number }[];
}

/** The first label date that a block learns from; without a window NO_LABEL_DAY, which is before any date. */
function windowStart(own: readonly LearnedRows[], window: number | undefined): (block: number) => Day {
  if (window === undefined) return () => NO_LABEL_DAY;
  // The set of tickers is constant between two blocks in which tickers join.
  const byCount = new Map<number, Int32Array>();
  return (block) => {
    const learning = own.filter(({ blocks }) => blocks[block]!.learnEnd > 0);
    const last = learning.reduce((latest, { panel, learn, blocks }) => {
      const { learnEnd } = blocks[block]!;
      return Math.max(latest, panel.labelDays[learn[learnEnd - 1]!]!);
    }, NO_LABEL_DAY);
    const dates = byCount.get(learning.length) ?? labelDates(learning);
    byCount.set(learning.length, dates);
    return dates[Math.max(0, countBefore(dates, last + 1) - window)] ?? NO_LABEL_DAY;
  };
}

/** The distinct label dates of all rows that any block learns from, ascending. */
function labelDates(own: readonly LearnedRows[]): Int32Array {
  const distinct = new Set<Day>();
  for (const { panel, learn } of own) for (const row of learn) distinct.add(panel.labelDays[row]!);
  return Int32Array.from(distinct).sort();
}

function labelDaysOf({ labelDays }: BlockedRows, rows: Int32Array): Int32Array {
  return rows.map((row) => labelDays[row]!);
}
