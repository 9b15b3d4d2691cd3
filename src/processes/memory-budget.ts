import type { MemoryFacts } from "../engine/process-memory.ts";

/** What the budget needs to know about a process. */
export interface BudgetedProcess {
  /** Whether it runs a job. A process that waits for one counts, but has no share. */
  readonly hasJob: boolean;
  /** Bytes that the process and everything it started hold. @param enough bytes below which a rough figure will do. */
  held(enough: number): number;
  /** Called once: kills the process. */
  onOverLimit(facts: MemoryFacts): void;
}

interface MemoryBudgetOptions {
  /** Limit of all processes together, in bytes. */
  readonly limitBytes: number;
  readonly processes: () => readonly BudgetedProcess[];
  /** Stops the processes that wait for a job, and returns them. */
  readonly stopWaiting?: () => readonly BudgetedProcess[];
}

/** Milliseconds between two measurements; the factor keeps their processor time below 2 %. */
const PAUSE = { min: 200, factor: 50 };

/**
 * Watches the memory that processes share: all jobs of this machine, or one request. If they together exceed the limit on two measurements
 * in a row, it stops those that wait for a job. If none waits, it kills the one furthest over its share, which is an equal part of what the
 * waiting processes leave. It measures twice because a job that is too large by itself notices that too, and may continue after it has
 * killed its largest worker.
 */
export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  #wasOver = false;
  /** Processes that were killed or stopped, whose memory the system is still reclaiming. */
  readonly #stopped = new WeakSet<BudgetedProcess>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  /** Measures repeatedly until `stop`. */
  start(): void {
    const begun = performance.now();
    this.measure();
    const pause = Math.max(PAUSE.min, PAUSE.factor * (performance.now() - begun));
    this.#timer = setTimeout(() => this.start(), pause).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  measure(): void {
    const limit = this.#options.limitBytes;
    const processes = this.#options.processes().filter((entry) => !this.#stopped.has(entry));
    const enough = limit / Math.max(1, processes.length);
    const sizes = processes.map((entry) => ({ entry, held: entry.held(enough) }));
    const together = sizes.reduce((total, { held }) => total + held, 0);
    const isOver = together > limit;
    const jobs = sizes.filter(({ entry }) => entry.hasJob);
    if (isOver && this.#wasOver && jobs.length > 0) {
      const stopped = this.#options.stopWaiting?.() ?? [];
      if (stopped.length > 0) {
        for (const entry of stopped) this.#stopped.add(entry);
        this.#wasOver = false;
        return;
      }
      const waiting = sizes.reduce((total, { entry, held }) => total + (entry.hasJob ? 0 : held), 0);
      const share = Math.max(0, limit - waiting) / jobs.length;
      // All have the same share, so the largest is the furthest over it.
      const { entry, held } = jobs.reduce((most, job) => (job.held > most.held ? job : most));
      this.#stopped.add(entry);
      entry.onOverLimit({ held, together, limit, share, jobs: jobs.length });
    }
    this.#wasOver = isOver;
  }
}
