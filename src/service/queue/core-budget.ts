/**
 * The cores of this machine that running jobs share. A job gets all that are free but one for each job that may
 * still start beside it, so that the workers of all jobs together are never more than there are cores.
 */
export class CoreBudget {
  readonly #cores: number;
  /** Jobs at the same time. */
  readonly jobs: number;
  #taken = 0;
  #running = 0;

  constructor(cores: number, jobs: number) {
    this.#cores = cores;
    this.jobs = Math.min(cores, jobs);
  }

  get taken(): number {
    return this.#taken;
  }

  hasRoom(): boolean {
    return this.#running < this.jobs && this.#taken < this.#cores;
  }

  /** @returns how many cores the next job gets, at least 1. */
  take(): number {
    const mayStillStart = this.jobs - this.#running - 1;
    const cores = Math.max(1, this.#cores - this.#taken - mayStillStart);
    this.#taken += cores;
    this.#running += 1;
    return cores;
  }

  giveBack(cores: number): void {
    this.#taken -= cores;
    this.#running -= 1;
  }
}
