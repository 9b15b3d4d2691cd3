import type { EventBatch } from "../../contract/output/job-events.ts";

type Progress = NonNullable<EventBatch["progress"]>;

/** Units that a stage must have done since its first one, so that its pace says something about the rest. */
const MIN_UNITS = 4;

/**
 * The pace of a job's current stage. It counts from the first done unit: what came before, such as the import of the libraries, does not
 * recur.
 */
export class StagePace {
  #first: { readonly stage: string; readonly done: number; readonly at: number } | undefined;

  /** Adds the share that is done and the seconds that the rest takes, as far as they are known. @param now in milliseconds. */
  complete(progress: Progress, now = performance.now()): Progress {
    const { stage, done, total } = progress;
    // Another attempt begins from the start.
    if (this.#first?.stage !== stage || done < this.#first.done) this.#first = undefined;
    if (done > 0) this.#first ??= { stage, done, at: now };
    if (total === null || total === 0) return progress;
    const percent = Math.floor((1_000 * Math.min(done, total)) / total) / 10;
    const units = this.#first === undefined ? 0 : done - this.#first.done;
    if (units < MIN_UNITS || done >= total) return { ...progress, percent };
    const seconds_left = Math.ceil((((total - done) / units) * (now - this.#first!.at)) / 1_000);
    return { ...progress, percent, seconds_left };
  }
}
