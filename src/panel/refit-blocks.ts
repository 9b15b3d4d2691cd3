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

type BlockedRows = Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins">;

/**
 * Cuts the dates that have score rows of any ticker into blocks of `every` dates, counted from the last label date of the fit rows. Earlier
 * score rows, of tickers whose prices have a gap or end there, belong to the first block.
 *
 * Timing: the labels known at the close of the first counted date are those of the fit rows, so the first block's models are the same as in
 * a job without refits. Every later block's models know the labels of its first date, at whose close its first forecasts are made.
 * @param every undefined for one block.
 * @returns at least one block, ascending; its `from` is 0 if no ticker has a score row.
 * @throws MucastError invalid_request for more than LIMITS.refitBlocks.
 */
export function refitBlocks(
  panels: readonly Pick<BlockedRows, "days" | "labelDays" | "fit" | "score">[],
  every: number | undefined,
): RefitBlock[] {
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
  if (blocks > LIMITS.refitBlocks) {
    throw new MucastError(
      "invalid_request",
      `refit_every ${every} cuts the ${counted.length} dates with score rows into ${blocks} blocks, and at most ${LIMITS.refitBlocks} are allowed; set it to ${Math.ceil(counted.length / LIMITS.refitBlocks)} or more`,
      { path: "refit_every", value: every },
    );
  }
  const later = counted.filter((_, i) => i > 0 && i % every === 0);
  return [first, ...Array.from(later, (day) => ({ from: day, known: day }))];
}

/**
 * The rows of one ticker that models learn from, over all blocks, and the rows that the models of each block forecast. A late ticker has
 * none in blocks before the one that it joins.
 * @param blocks of the whole job, ascending.
 * @returns `learn`, ascending: the fit rows, then the later rows whose label some block's models know; and for each block the `learn` rows
 * [0, learnEnd) that its models may learn from, and the positions [scoreStart, scoreEnd) in the score rows.
 */
export function tickerBlocks(panel: BlockedRows, blocks: readonly RefitBlock[]) {
  const { fit, score, days, joins } = panel;
  const lastKnown = blocks.at(-1)!.known;
  const learn = lastKnown === undefined ? fit : rowsKnownAt(panel, lastKnown);
  const knownDays = learnedDays(panel, learn);
  const scoreDays = score.map((row) => days[row]!);
  const starts = blocks.map(({ from }, b) => (b === 0 ? 0 : countBefore(scoreDays, from)));
  const fitAtCut = joins === undefined ? fit.length : 0;
  return {
    learn,
    blocks: blocks.map(({ known }, b) => ({
      learnEnd: known === undefined ? fitAtCut : countBefore(knownDays, known + 1),
      scoreStart: starts[b]!,
      scoreEnd: starts[b + 1] ?? score.length,
    })),
  };
}

/** The fit rows, and the rows after them that models may learn from at the close of `known`: with a delay, also some before the score rows. */
function rowsKnownAt(panel: BlockedRows, known: Day): Int32Array {
  const targets = targetsOf(panel);
  const last = panel.fit.at(-1) ?? -1;
  const isLater = (day: Day, row: number) => row > last && day <= known && !Number.isNaN(targets[row]!);
  const later = [...panel.labelDays.keys()].filter((row) => isLater(panel.labelDays[row]!, row));
  return Int32Array.from([...panel.fit, ...later]);
}

/** The block whose models are the first to learn a ticker's rows: number 0 except for late tickers. */
export function firstBlock({ joins }: Pick<PanelRows, "joins">, blocks: readonly RefitBlock[]): number {
  return joins === undefined ? 0 : blocks.findIndex(({ known }) => known === joins);
}

/** The panel of a ticker that joins at this close: its fit rows are those whose label is known then, its score rows begin on that date. */
export function joinAt<P extends BlockedRows>(panel: P, joins: Day): P {
  if (panel.joins === joins) return panel;
  const score = panel.score.filter((row) => panel.days[row]! >= joins);
  return { ...panel, fit: rowsKnownAt(panel, joins), score, joins };
}

/** Shape (rows): the close from which models may learn from each row: its label date, but for a late ticker not before it joins. */
export function learnedDays(
  { labelDays, joins = NO_LABEL_DAY }: Pick<PanelRows, "labelDays" | "joins">,
  rows: Int32Array,
): Int32Array {
  return rows.map((row) => Math.max(labelDays[row]!, joins));
}

/** The panels with the rows that a network of block `learned` learns from as `fit`, and those of block `scored`, the same or later, as `score`. */
export type RowsByBlock<P> = (learned: number, scored: number) => P[];

/**
 * The rows of the networks of each block.
 *
 * Timing: a network learns from the rows of `tickerBlocks`; with a window, only from the last `window` distinct label dates of these, over all
 * given panels. A late ticker has no rows to learn from, and its dates do not count, before the block that it joins.
 * @param panels of the tickers that one network learns from: one, or all.
 * @param blocks of `refitBlocks`, ascending.
 */
export function rowsByBlock<P extends BlockedRows>(
  panels: readonly P[],
  blocks: readonly RefitBlock[],
  window: number | undefined,
): RowsByBlock<P> {
  const tickers = panels.map((panel) => {
    const { learn, blocks: ranges } = tickerBlocks(panel, blocks);
    return { panel, learn, ranges, labelDays: learn.map((row) => panel.labelDays[row]!) };
  });
  const starts: Day[] = [];
  const firstLabelDay = (block: number, window: number): Day => {
    const latest = tickers.flatMap(({ labelDays, ranges }) => [
      ...labelDays.subarray(0, ranges[block]!.learnEnd).subarray(-window),
    ]);
    return Int32Array.from(new Set(latest)).sort().at(-window) ?? NO_LABEL_DAY;
  };
  return (learned, scored) => {
    if (window !== undefined) starts[learned] ??= firstLabelDay(learned, window);
    return tickers.map(({ panel, learn, ranges, labelDays }) => {
      const { scoreStart, scoreEnd } = ranges[scored]!;
      const from = countBefore(labelDays, starts[learned] ?? NO_LABEL_DAY);
      const fit = learn.subarray(from, Math.max(from, ranges[learned]!.learnEnd));
      return { ...panel, fit, score: panel.score.subarray(scoreStart, scoreEnd) };
    });
  };
}
