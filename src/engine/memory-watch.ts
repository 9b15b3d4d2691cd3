import type { Worker } from "./job.ts";
import { defaultMemoryLimit, privateMemory } from "./memory.ts";

export interface MemoryWatchOptions {
  /** Bytes of all workers together; by default 80 % of the machine's memory. */
  readonly limitBytes: number | undefined;
  readonly workers: () => Iterable<Worker>;
  readonly kill: (worker: Worker) => void;
}

const INTERVAL_MILLISECONDS = 200;
const MIB = 2 ** 20;

/**
 * Kills the largest worker when all of them together hold more than the limit, before the system's own
 * out-of-memory killer picks a process by its own rules.
 */
export class MemoryWatch {
  readonly #limit: number;
  readonly #options: MemoryWatchOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#limit = options.limitBytes ?? defaultMemoryLimit();
    this.#timer = setInterval(() => this.#look(), INTERVAL_MILLISECONDS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    let total = 0;
    let largest: { readonly worker: Worker; readonly bytes: number } | undefined;
    for (const worker of this.#options.workers()) {
      if (worker.killed || worker.pid === undefined) continue;
      const bytes = privateMemory(worker.pid);
      total += bytes;
      if (bytes > (largest?.bytes ?? 0)) largest = { worker, bytes };
    }
    if (!largest || total <= this.#limit) return;
    largest.worker.overMemory =
      `it held ${mib(largest.bytes)} of memory when the workers together held ${mib(total)}, ` +
      `over the limit of ${mib(this.#limit)}`;
    this.#options.kill(largest.worker);
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
