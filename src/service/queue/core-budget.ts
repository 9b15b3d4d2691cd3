/**
 * The cores of this machine, shared by running jobs. A job gets all free cores except one for each job that may still start beside
 * it. So the workers of all jobs together never exceed the cores.
 */
export class CoreBudget {
  readonly #cores: number;
  /** Maximum number of parallel jobs. */
  readonly jobs: number;
  #taken = 0;
  #running = 0;

  constructor(cores: number, jobs: number) {
    this.#cores = cores;
    this.jobs = Math.min(cores, jobs);
  }

  get cores(): number {
    return this.#cores;
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

  release(cores: number): void {
    this.#taken -= cores;
    this.#running -= 1;
  }
}
