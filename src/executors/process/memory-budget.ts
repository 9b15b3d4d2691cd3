import type { MucastError } from "../../contract/errors/errors.ts";
import { outOfMemory } from "../../engine/process-memory.ts";

/** A job process as the budget sees it. */
export interface BudgetedProcess {
  /** Whether it is at a job; one that waits counts and is no job. */
  readonly hasJob: boolean;
  /** Bytes that it and all that it has started hold. @param enough bytes up to which a cheap look will do. */
  held(enough: number): number;
  /** Ends the job at once. */
  lose(error: MucastError): void;
}

export interface MemoryBudgetOptions {
  /** Of all job processes together. */
  readonly limitBytes: number;
  readonly processes: () => readonly BudgetedProcess[];
  /** Ends those that only wait for a job, and returns them. */
  readonly endWaiting: () => readonly BudgetedProcess[];
}

/** A look takes a part of a processor; it is kept below a fiftieth of one. */
const PAUSE = { least: 200, looks: 50 };

/**
 * Watches the memory that the jobs of this machine share. Where all of them hold more than the limit on two looks in a
 * row, processes that wait for a job end; where there are none, the job furthest over its share, an equal part of what
 * other processes leave, ends. Two looks, because a job that is too large by itself sees it too, and may go on without the
 * worker that is.
 */
export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  #wasOver = false;
  /** What they hold is on its way back. */
  readonly #lost = new WeakSet<BudgetedProcess>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  /** Looks again and again until `stop`. */
  start(): void {
    const begun = performance.now();
    this.look();
    const pause = Math.max(PAUSE.least, PAUSE.looks * (performance.now() - begun));
    this.#timer = setTimeout(() => this.start(), pause).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  look(): void {
    const limit = this.#options.limitBytes;
    const processes = this.#options.processes().filter((entry) => !this.#lost.has(entry));
    const enough = limit / Math.max(1, processes.length);
    const sizes = processes.map((entry) => ({ entry, held: entry.held(enough) }));
    const together = sizes.reduce((total, { held }) => total + held, 0);
    const isOver = together > limit;
    const jobs = sizes.filter(({ entry }) => entry.hasJob);
    if (isOver && this.#wasOver && jobs.length > 0) {
      const ended = this.#options.endWaiting();
      if (ended.length > 0) {
        for (const entry of ended) this.#lost.add(entry);
        this.#wasOver = false;
        return;
      }
      const waiting = sizes.reduce((total, { entry, held }) => total + (entry.hasJob ? 0 : held), 0);
      const share = Math.max(0, limit - waiting) / jobs.length;
      // All have the same share, so the largest is the furthest over it.
      const { entry, held } = jobs.reduce((most, job) => (job.held > most.held ? job : most));
      this.#lost.add(entry);
      entry.lose(outOfMemory({ held, together, limit, share, jobs: jobs.length }));
    }
    this.#wasOver = isOver;
  }
}
