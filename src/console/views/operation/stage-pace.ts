interface Progress {
  readonly stage: string;
  readonly done: number;
  readonly total: number | null;
}

/** A progress that the service has stored, with its time in milliseconds. */
interface Sample extends Progress {
  readonly at: number;
}

/** Units that a stage must have done since its first one, so that its pace says something about the rest. */
const MIN_UNITS = 4;

/**
 * The pace of the current stage, by the clock of the service. As on the command line, it counts from the first done unit: what came before,
 * such as the import of the libraries, does not recur.
 */
export class StagePace {
  #first: Sample | undefined;
  #last: Sample | undefined;

  /** @param at when the service recorded it, in milliseconds. */
  add(progress: Progress, at: number): void {
    const sample = { ...progress, at };
    // Another attempt begins from the start.
    const isNew = progress.stage !== this.#first?.stage || progress.done < this.#last!.done;
    if (isNew) this.#first = progress.done > 0 ? sample : undefined;
    this.#last = isNew && progress.done === 0 ? undefined : sample;
  }

  /** Milliseconds that the rest of a stage takes at this pace; undefined if that is not known yet, or not more than nothing. */
  remaining({ stage }: Pick<Progress, "stage">): number | undefined {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined || last.stage !== stage || last.total === null)
      return undefined;
    const units = last.done - first.done;
    const span = last.at - first.at;
    if (units < MIN_UNITS || span <= 0 || last.done >= last.total) return undefined;
    return ((last.total - last.done) / units) * span;
  }
}
