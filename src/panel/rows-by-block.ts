import type { Day } from "../contract/market/dates.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { countBefore, type RefitBlock, tickerBlocks } from "./refit-blocks.ts";
import type { PanelRows } from "./ticker-panel.ts";

type BlockedRows = Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score">;

/**
 * The panels with the rows of one network: `fit` are those that a network of block `learned` learns from, `score` those of block `scored`.
 * A network forecasts its own block, or replaces that of a later one.
 */
export type RowsByBlock<P> = (learned: number, scored: number) => P[];

/**
 * The rows of the networks of each block.
 *
 * Timing: a network of a later block learns from all rows whose label is known at the close of the block's first date, one of the first
 * block from the fit rows. With a window, it learns only from the last `window` distinct label dates of these rows, over all given panels.
 * A late ticker has no rows to learn from, and its dates do not count, before the block that it joins.
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

/** The first label date that a block learns from; NO_LABEL_DAY, before any, without a window. */
function windowStart(own: readonly LearnedRows[], window: number | undefined): (block: number) => Day {
  if (window === undefined) return () => NO_LABEL_DAY;
  // The same tickers learn in all blocks between two in which tickers join.
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

/** The distinct label dates of all rows that are ever learned, ascending. */
function labelDates(own: readonly LearnedRows[]): Int32Array {
  const distinct = new Set<Day>();
  for (const { panel, learn } of own) for (const row of learn) distinct.add(panel.labelDays[row]!);
  return Int32Array.from(distinct).sort();
}

function labelDaysOf({ labelDays }: BlockedRows, rows: Int32Array): Int32Array {
  return rows.map((row) => labelDays[row]!);
}
