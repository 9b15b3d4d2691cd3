import type { MucastError } from "../../contract/errors/errors.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { memoryOf, mib, outOfMemory, privateMemory } from "../process-memory.ts";
import type { KillReason, Worker } from "./workers.ts";

interface MemoryWatchOptions {
  /** Bytes of the whole tree: this process, the host and all workers; by default 80 % of the machine's memory. */
  readonly limitBytes: number | undefined;
  /** Bytes of this process and the host. */
  readonly base: () => readonly number[];
  readonly workers: Iterable<Worker>;
  readonly kill: (worker: Worker, why: KillReason) => void;
  /** Called if the job would exceed the limit even without its largest worker. */
  readonly fail: (error: MucastError) => void;
}

const INTERVAL_MILLISECONDS = 200;

/**
 * Kills the largest worker when the processes of a job together exceed the limit, before the system's out-of-memory killer picks a process
 * by its own rules. If this process and the host hold more than any worker, no ticker is to blame, and the job fails.
 */
export class MemoryWatch {
  readonly #limit: number;
  readonly #options: MemoryWatchOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#limit = options.limitBytes ?? defaultMemoryBytes();
    this.#timer = setInterval(() => this.#look(), INTERVAL_MILLISECONDS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const base = this.#options.base();
    const workers = [...this.#options.workers].flatMap((worker) =>
      worker.killed || worker.pid === undefined ? [] : { worker, pid: worker.pid },
    );
    const limit = this.#limit;
    const together = memoryOf([...base, ...workers.map(({ pid }) => pid)], limit);
    if (together <= limit) return;
    const sized = workers.map((entry) => ({ ...entry, bytes: privateMemory(entry.pid) }));
    const largest = sized.toSorted((a, b) => b.bytes - a.bytes)[0];
    const ours = memoryOf(base, 0);
    if (largest === undefined || largest.bytes < ours) {
      this.#options.fail(outOfMemory({ held: together, together, limit, share: limit, jobs: 1 }));
      return;
    }
    const words =
      `it held ${mib(largest.bytes)} of memory when the processes of the job together held ${mib(together)}, ` +
      `over the limit of ${mib(limit)}`;
    this.#options.kill(largest.worker, { details: words, mayEndBetter: largest.bytes + ours <= limit });
  }
}
