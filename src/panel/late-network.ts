import type { Day } from "../contract/market/dates.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import type { PlanRows } from "./late-ticker.ts";
import { laterRows, type RefitBlock } from "./refit-blocks.ts";
import type { PanelRows } from "./ticker-panel.ts";
import { MIN_TRAINING_SAMPLES } from "./window-plan.ts";

/** A ticker that has too few rows for a network at the cut, and may have enough at a later block. */
export interface LateCandidate<P extends PanelRows> {
  readonly ticker: string;
  /** Its rows with `known` as the cut, for a plan; undefined with too few fit rows. Nothing dated after `known` affects its fit rows. */
  rowsAt(known: Day): PlanRows | undefined;
  /** The same panel with its features, once it has joined. */
  join(known: Day): P;
}

/** Where candidates come from. */
export interface LateSource<P extends PanelRows> {
  /** The tickers with too few fit rows at the cut. @param features the allowed ones; undefined for all. */
  candidates(features?: ReadonlySet<string>): LateCandidate<P>[];
  /** The panel with only the given columns. */
  withColumns(panel: P, columns: ReadonlySet<string>): P;
}

/** The source of a job in which every ticker has enough fit rows. */
export function noLateTickers<P extends PanelRows>(): LateSource<P> {
  return { candidates: () => [], withColumns: (panel) => panel };
}

/** A ticker with enough fit rows at the cut, and too few labels for a network to train on. */
export function lateCandidate<P extends PanelRows>(panel: P): LateCandidate<P> {
  return {
    ticker: panel.ticker,
    rowsAt: (known) => joiningAt(panel, known),
    join: (known) => joiningAt(panel, known),
  };
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

/** Whether a network forecasts a ticker that joins: its prices may end before. */
export function hasLateForecasts(
  { days, score, joins }: Pick<PanelRows, "days" | "score" | "joins">,
  lookback: number,
): boolean {
  const last = score.at(-1);
  return last !== undefined && last >= lookback - 1 && days[last]! >= (joins ?? days[last]!);
}

/** Whether a network could train on enough windows if all of them were in its training part. */
export function hasTrainingWindows({ fit }: Pick<PanelRows, "fit">, lookback: number): boolean {
  return fit.length >= MIN_TRAINING_SAMPLES && fit[fit.length - MIN_TRAINING_SAMPLES]! >= lookback - 1;
}

/** The first dates of the blocks at which tickers may join, ascending, each with the number of its block. */
export function* joiningDates(
  blocks: readonly RefitBlock[],
): Generator<{ readonly block: number; readonly known: Day }> {
  for (const [block, { known }] of blocks.entries()) if (known !== undefined) yield { block, known };
}
