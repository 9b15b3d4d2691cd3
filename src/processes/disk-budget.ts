import { freeBytes } from "./disk-usage.ts";

/** A process whose temporary files count. */
export interface DiskUser {
  /** Whether it runs a job. */
  readonly hasJob: boolean;
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

/** A measurement looks at each file; this keeps it below a tenth of a core, if there are not hundreds of thousands. */
const PAUSE = { least: 1_000, most: 10_000, looks: 10 };

/**
 * Watches the disk space of the temporary files of all jobs of this machine: a blob of some kilobytes may stand for gigabytes of values. If
 * they together exceed the limit, it kills the job that holds the most.
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
    await this.look();
    if (this.#isStopped) return;
    const { least, most, looks } = PAUSE;
    const pause = Math.min(most, Math.max(least, looks * (performance.now() - begun)));
    this.#timer = setTimeout(() => void this.start(), pause).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async look(): Promise<void> {
    const { processes, folder, limitBytes } = this.#options;
    const jobs: { readonly user: DiskUser; readonly held: number }[] = [];
    for (const user of processes()) {
      if (user.hasJob && !this.#killed.has(user)) jobs.push({ user, held: await user.diskBytes() });
    }
    if (jobs.length === 0) return;
    const together = jobs.reduce((total, { held }) => total + held, 0);
    const limit = limitBytes ?? (await defaultLimit(folder, together));
    if (together <= limit || this.#isStopped) return;
    const { user, held } = jobs.reduce((most, job) => (job.held > most.held ? job : most));
    this.#killed.add(user);
    user.onOverDisk({ held, limit, together });
  }
}

async function defaultLimit(folder: string, together: number): Promise<number> {
  const free = await freeBytes(folder);
  return free === undefined ? Number.POSITIVE_INFINITY : Math.floor(FREE_SHARE * (free + together));
}
