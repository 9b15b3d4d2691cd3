/** A running job that gets cores. */
interface CoreUser {
  /** Called when its share changes. @param cores at least 1. */
  setCores(cores: number): void;
}

/**
 * Shares the cores of this machine evenly among running jobs: a single job has all of them, and gives some back when another starts. The
 * workers of all jobs together have as many tasks as there are cores, except while a job that gives cores back ends its running tasks.
 */
export class CoreBudget {
  readonly cores: number;
  /** Maximum number of parallel jobs. */
  readonly jobs: number;
  /** The share of each running job, the oldest job first. */
  readonly #shares = new Map<CoreUser, number>();

  constructor(cores: number, jobs: number) {
    this.cores = cores;
    this.jobs = Math.min(cores, jobs);
  }

  /** Cores that running jobs have. */
  get taken(): number {
    return this.#shares.size === 0 ? 0 : this.cores;
  }

  hasRoom(): boolean {
    return this.#shares.size < this.jobs;
  }

  /** The cores that the next job would get. */
  get next(): number {
    return Math.max(1, Math.floor(this.cores / (this.#shares.size + 1)));
  }

  /** Gives a job that starts with `next` cores its share, and takes it from the others. */
  add(job: CoreUser): void {
    this.#shares.set(job, this.next);
    this.#share();
  }

  /** Gives the share of a job that has ended to the others. */
  remove(job: CoreUser): void {
    this.#shares.delete(job);
    this.#share();
  }

  #share(): void {
    const each = Math.floor(this.cores / this.#shares.size);
    let left = this.cores % this.#shares.size;
    for (const [job, before] of this.#shares) {
      const cores = Math.max(1, each + (left-- > 0 ? 1 : 0));
      this.#shares.set(job, cores);
      if (cores !== before) job.setCores(cores);
    }
  }
}
