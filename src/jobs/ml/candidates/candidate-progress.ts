import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import type { Day } from "../../../contract/market/dates.ts";
import { foldCount } from "../../../panel/folds.ts";
import type { RefitBlock } from "../../../panel/refit-blocks.ts";
import type { PanelRows } from "../../../panel/ticker-panel.ts";
import type { OnFits } from "../fit-together.ts";
import { planFits, refusedColumns } from "../plan-fits.ts";

/** The settings with the folds that only serve the choice. */
export function withWarmUp(settings: MlSettings, { warmUp }: MlCandidates): MlSettings {
  return { ...settings, nSplits: settings.nSplits + warmUp };
}

/** The number of fits of a candidate, without those of late tickers. */
export function fitCount(
  panels: readonly PanelRows[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): number {
  if (settings.fit === "pooled") {
    const { cvTestSize, nSplits, delay } = settings;
    return foldCount(fitDates(panels), cvTestSize, nSplits, delay) + blocks.length;
  }
  return panels.reduce((total, panel) => {
    if (refusedColumns(panel, settings) !== undefined) return total;
    const { fits, refits } = planFits(panel, settings, blocks);
    return total + fits.length + refits.length;
  }, 0);
}

function fitDates(panels: readonly PanelRows[]): number {
  const days = new Set<Day>();
  for (const { fit, days: own } of panels) for (const row of fit) days.add(own[row]!);
  return days.size;
}

/** The progress of the fits of all candidates. */
export class CandidateProgress {
  /** The number of fits by candidate; undefined if it is not known beforehand. */
  readonly #planned: number[] | undefined;
  readonly #done: number[] = [];
  readonly #onFits: OnFits;

  constructor(planned: readonly number[] | undefined, onFits: OnFits) {
    this.#planned = planned && [...planned];
    this.#onFits = onFits;
  }

  /** @returns the progress of the candidate's next fits. */
  start(candidate: number): (done: number) => void {
    const before = this.#done[candidate] ?? 0;
    return (done) => {
      this.#done[candidate] = before + done;
      this.#report();
    };
  }

  /** All fits of the candidate count as done, also those of tickers that failed. */
  finish(candidate: number): void {
    if (this.#planned !== undefined) this.#done[candidate] = this.#planned[candidate]!;
  }

  /** The fits that these candidates have not had are planned no longer. */
  drop(candidates: readonly number[]): void {
    if (this.#planned === undefined || candidates.length === 0) return;
    for (const c of candidates) this.#planned[c] = this.#done[c] ?? 0;
    this.#report();
  }

  #report(): void {
    this.#onFits(sum(this.#done), this.#planned && sum(this.#planned));
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + (count ?? 0), 0);
}
