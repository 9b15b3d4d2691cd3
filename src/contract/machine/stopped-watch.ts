import { isStopped } from "./process-stat.ts";

interface WatchedProcess {
  readonly pid: number | undefined;
  /** Called at each check after the process has been stopped for the whole limit. @param why text for an error. */
  readonly onStopped: (why: string) => void;
}

/** How long a process may be stopped: longer than a person pauses one by mistake. */
const LIMIT_MILLISECONDS = 120_000;
const LOOKS = 8;

/**
 * Reports processes that are stopped, as by SIGSTOP (Linux): a stopped process keeps its work forever and closes no pipe. The watch counts
 * its own checks instead of time, because this process may have been stopped together with the others.
 */
export class StoppedWatch {
  readonly #processes: () => Iterable<WatchedProcess>;
  readonly #why: string;
  readonly #timer: NodeJS.Timeout;
  /** Successive checks at which a pid was stopped. */
  #looks = new Map<number, number>();

  constructor(processes: () => Iterable<WatchedProcess>, limitMilliseconds: number = LIMIT_MILLISECONDS) {
    this.#processes = processes;
    this.#why = `it was stopped (SIGSTOP) for ${limitMilliseconds / 1_000} s`;
    this.#timer = setInterval(() => this.#look(), limitMilliseconds / LOOKS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const before = this.#looks;
    this.#looks = new Map();
    for (const { pid, onStopped } of this.#processes()) {
      if (pid === undefined || !isStopped(pid)) continue;
      const looks = (before.get(pid) ?? 0) + 1;
      this.#looks.set(pid, looks);
      // The first check finds a process that was stopped just before.
      if (looks > LOOKS) onStopped(this.#why);
    }
  }
}
