import type { JobChild } from "./job-child.ts";

const BACKOFF_MILLISECONDS = { first: 1_000, most: 60_000 };
/** One that has lived so long did not fail by its start. */
const LONG_LIFE_MILLISECONDS = 60_000;
/** The next one loads its modules when the job is over, or after so long: not beside a short job. */
const PAUSE_MILLISECONDS = 1_000;

/** Keeps one job process ready for the next order. */
export class Standby {
  readonly #start: () => JobChild;
  #child: JobChild | undefined;
  #timer: NodeJS.Timeout | undefined;
  #deaths = 0;
  #closed = false;
  readonly #dismissed = new Set<JobChild>();

  /** @param start starts a job process that will be fit for any order. */
  constructor(start: () => JobChild) {
    this.#start = start;
    this.#fill();
  }

  /** The one that waits, or undefined where there is none. */
  get child(): JobChild | undefined {
    return this.#child;
  }

  /** Gives the one that waits away; another takes its place a little later. */
  take(): JobChild | undefined {
    const child = this.#child;
    this.#child = undefined;
    this.#fillIn(PAUSE_MILLISECONDS);
    void child?.ended.then(() => this.#fillIn(0));
    return child;
  }

  /** Ends the one that waits and starts another: what it was started with has changed. */
  renew(): void {
    if (this.#child) this.#dismiss(this.#child);
    this.#child = undefined;
    this.#fillIn(0);
  }

  /** Returns once none is left. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#child) this.#dismiss(this.#child);
    await Promise.all([...this.#dismissed].map((child) => child.ended));
  }

  /** The latest wish stands. */
  #fillIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      if (!this.#child) this.#fill();
    }, milliseconds);
  }

  #fill(): void {
    const child = this.#start();
    const born = performance.now();
    this.#child = child;
    void child.ended.then(() => {
      if (this.#child !== child) return;
      this.#child = undefined;
      if (performance.now() - born > LONG_LIFE_MILLISECONDS) this.#deaths = 0;
      const pause = BACKOFF_MILLISECONDS.first * 2 ** this.#deaths++;
      this.#fillIn(Math.min(pause, BACKOFF_MILLISECONDS.most));
    });
  }

  #dismiss(child: JobChild): void {
    this.#dismissed.add(child);
    void child.ended.then(() => this.#dismissed.delete(child));
    child.dismiss();
  }
}
