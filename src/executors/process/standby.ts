import type { JobChild } from "./job-child.ts";

const BACKOFF_MILLISECONDS = { first: 1_000, most: 60_000 };
/** A process that lived at least this long did not fail because of its start. */
const LONG_LIFE_MILLISECONDS = 60_000;
/** The next process loads its modules when the job has ended, or after this long, so that it does not slow down a short job. */
const PAUSE_MILLISECONDS = 1_000;
/** How long more than one process waits after jobs that ran at the same time. */
const IDLE_MILLISECONDS = 30_000;

interface StandbyOptions {
  /** Starts a job process that can take any order. */
  readonly start: () => JobChild;
  /** Whether the executor may start another job beside the running ones. */
  readonly isWanted: () => boolean;
}

/** Keeps one job process ready for the next order, and for a while the processes that have finished an order. */
export class Standby {
  readonly #options: StandbyOptions;
  /** `take` returns the last one. */
  readonly #waiting: JobChild[] = [];
  #filling: NodeJS.Timeout | undefined;
  #trimming: NodeJS.Timeout | undefined;
  #deaths = 0;
  #closed = false;

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#fill();
  }

  /** The process that `take` would return; undefined if none waits. */
  get child(): JobChild | undefined {
    return this.#waiting.at(-1);
  }

  /** Hands a waiting process to the caller; another is started a little later. */
  take(): JobChild | undefined {
    const child = this.#waiting.pop();
    this.#fillIn(PAUSE_MILLISECONDS);
    void child?.ended.then(() => this.#fillIn(0));
    return child;
  }

  /** Keeps a process that has finished its order. */
  takeBack(child: JobChild): void {
    if (this.#closed) {
      child.stop();
      return;
    }
    this.#keep(child);
    clearTimeout(this.#trimming);
    this.#trimming = setTimeout(() => this.#stop(this.#waiting.length - 1), IDLE_MILLISECONDS);
  }

  /** Stops the waiting processes and starts another, because their environment has changed. */
  replace(): void {
    this.#stop();
    this.#fillIn(0);
  }

  /** Stops the waiting processes. Another is started after a pause, which grows each time that this happens soon again. */
  stopWaiting(): readonly JobChild[] {
    const stopped = this.#stop();
    if (stopped.length > 0) this.#fillLater();
    return stopped;
  }

  /** Stops the waiting processes, and starts no other. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#filling);
    clearTimeout(this.#trimming);
    this.#stop();
  }

  /** The latest call counts. */
  #fillIn(milliseconds: number): void {
    clearTimeout(this.#filling);
    if (this.#closed) return;
    this.#filling = setTimeout(() => {
      if (this.#waiting.length === 0 && this.#options.isWanted()) this.#fill();
    }, milliseconds);
  }

  #fill(): void {
    const born = performance.now();
    this.#keep(this.#options.start(), () => {
      if (performance.now() - born > LONG_LIFE_MILLISECONDS) this.#deaths = 0;
      this.#fillLater();
    });
  }

  #fillLater(): void {
    const pause = BACKOFF_MILLISECONDS.first * 2 ** this.#deaths++;
    this.#fillIn(Math.min(pause, BACKOFF_MILLISECONDS.most));
  }

  /** @param onDeath called if the process ends while it waits. */
  #keep(child: JobChild, onDeath = () => this.#fillIn(0)): void {
    this.#waiting.push(child);
    void child.ended.then(() => {
      const index = this.#waiting.indexOf(child);
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      onDeath();
    });
  }

  /** Stops waiting processes, those that have waited longest first. */
  #stop(count = this.#waiting.length): readonly JobChild[] {
    const stopped = this.#waiting.splice(0, count);
    for (const child of stopped) child.stop();
    return stopped;
  }
}
