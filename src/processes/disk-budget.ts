import { freeBytes } from "./disk-usage.ts";

/** A process whose temporary files count. */
export interface DiskUser {
  /** The job that it runs, another object for each job; undefined while it waits for one. */
  readonly job: object | undefined;
  /** Bytes on disk of its temporary files. */
  diskBytes(): Promise<number>;
  /** Called once: kills the process. */
  onOverDisk(facts: DiskFacts): void;
}

/** The files of a job that was killed because of them, in bytes. */
export interface DiskFacts {
  readonly held: number;
  /** The limit of all jobs together. */
  readonly limit: number;
  /** What all jobs held. */
  readonly together: number;
}

interface DiskBudgetOptions {
  /** Limit of all jobs together, in bytes; by default FREE_SHARE of what would be free without their files. */
  readonly limitBytes?: number | undefined;
  /** The folder for temporary files. */
  readonly folder: string;
  readonly processes: () => readonly DiskUser[];
}

const FREE_SHARE = 0.8;

/**
 * Milliseconds between two measurements. A measurement reads the size of each file; the factor keeps it below a tenth of a core unless there
 * are hundreds of thousands of files.
 */
const PAUSE = { min: 1_000, max: 10_000, factor: 10 };

/**
 * Watches the disk space that the temporary files of all jobs on this machine take: a blob of a few kilobytes may expand to gigabytes of
 * values. If the files exceed the limit together, it kills the job whose files take the most.
 */
export class DiskBudget {
  readonly #options: DiskBudgetOptions;
  /** Jobs that were killed, whose files the system is still removing. */
  readonly #killed = new WeakSet<DiskUser>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: DiskBudgetOptions) {
    this.#options = options;
  }

  /** Measures repeatedly until `stop`. */
  async start(): Promise<void> {
    const begun = performance.now();
    await this.measure();
    if (this.#isStopped) return;
    const { min, max, factor } = PAUSE;
    const pause = Math.min(max, Math.max(min, factor * (performance.now() - begun)));
    this.#timer = setTimeout(() => void this.start(), pause).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async measure(): Promise<void> {
    const { processes, folder, limitBytes } = this.#options;
    const measured: { readonly user: DiskUser; readonly job: object; readonly held: number }[] = [];
    for (const user of processes()) {
      const { job } = user;
      if (job !== undefined && !this.#killed.has(user))
        measured.push({ user, job, held: await user.diskBytes() });
    }
    if (measured.length === 0) return;
    const limit = limitBytes ?? (await defaultLimit(folder, sumOf(measured)));
    // Measuring takes time: a process whose job has ended may already run the job of another caller.
    const jobs = measured.filter(({ user, job }) => user.job === job);
    const together = sumOf(jobs);
    if (together <= limit || this.#isStopped) return;
    const { user, held } = jobs.reduce((most, job) => (job.held > most.held ? job : most));
    this.#killed.add(user);
    user.onOverDisk({ held, limit, together });
  }
}

function sumOf(jobs: readonly { readonly held: number }[]): number {
  return jobs.reduce((total, { held }) => total + held, 0);
}

async function defaultLimit(folder: string, together: number): Promise<number> {
  const free = await freeBytes(folder);
  return free === undefined ? Number.POSITIVE_INFINITY : Math.floor(FREE_SHARE * (free + together));
}
