import type { JobChild } from "./job-child.ts";

const BACKOFF_MILLISECONDS = { first: 1_000, most: 60_000 };
/** One that has lived so long did not fail by its start. */
const LONG_LIFE_MILLISECONDS = 60_000;
/** The next one loads its modules when the job is over, or after so long: not beside a short job. */
const PAUSE_MILLISECONDS = 1_000;
/** How long more than one wait, after work that needed them. */
const IDLE_MILLISECONDS = 30_000;

export interface StandbyOptions {
  /** Starts a job process that will be fit for any order. */
  readonly start: () => JobChild;
  /** Whether another job could be begun beside those that run. */
  readonly isWanted: () => boolean;
}

/** Keeps one job process ready for the next order, and for a while those that have done their last one. */
export class Standby {
  readonly #options: StandbyOptions;
  /** The last one is the next to be taken. */
  readonly #waiting: JobChild[] = [];
  #filling: NodeJS.Timeout | undefined;
  #trimming: NodeJS.Timeout | undefined;
  #deaths = 0;
  #closed = false;
  readonly #dismissed = new Set<JobChild>();

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#fill();
  }

  /** The one that would be taken, or undefined where there is none. */
  get child(): JobChild | undefined {
    return this.#waiting.at(-1);
  }

  /** Gives one that waits away; another takes its place a little later. */
  take(): JobChild | undefined {
    const child = this.#waiting.pop();
    this.#fillIn(PAUSE_MILLISECONDS);
    void child?.ended.then(() => this.#fillIn(0));
    return child;
  }

  /** Keeps one that has done its order. */
  giveBack(child: JobChild): void {
    if (this.#closed) {
      this.#dismiss(child);
      return;
    }
    this.#keep(child);
    clearTimeout(this.#trimming);
    this.#trimming = setTimeout(() => {
      for (const spare of this.#waiting.splice(0, this.#waiting.length - 1)) this.#dismiss(spare);
    }, IDLE_MILLISECONDS);
  }

  /** Ends those that wait and starts another: what they were started with has changed. */
  renew(): void {
    for (const child of this.#waiting.splice(0)) this.#dismiss(child);
    this.#fillIn(0);
  }

  /** Ends those that wait; another is started after a pause, a longer one each time that this follows soon. */
  endWaiting(): readonly JobChild[] {
    const ended = this.#waiting.splice(0);
    for (const child of ended) this.#dismiss(child);
    if (ended.length > 0) this.#fillLater();
    return ended;
  }

  /** Returns once none is left. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#filling);
    clearTimeout(this.#trimming);
    for (const child of this.#waiting.splice(0)) this.#dismiss(child);
    await Promise.all([...this.#dismissed].map((child) => child.ended));
  }

  /** The latest wish stands. */
  #fillIn(milliseconds: number): void {
    clearTimeout(this.#filling);
    if (this.#closed) return;
    this.#filling = setTimeout(() => {
      if (this.#waiting.length === 0 && this.#options.isWanted()) this.#fill();
    }, milliseconds);
  }

  #fill(): void {
    const child = this.#started();
    if (child === undefined) {
      this.#fillLater();
      return;
    }
    const born = performance.now();
    this.#keep(child, () => {
      if (performance.now() - born > LONG_LIFE_MILLISECONDS) this.#deaths = 0;
      this.#fillLater();
    });
  }

  /** Undefined where the system makes no process now; a job that needs one tells why. */
  #started(): JobChild | undefined {
    try {
      return this.#options.start();
    } catch {
      return undefined;
    }
  }

  #fillLater(): void {
    const pause = BACKOFF_MILLISECONDS.first * 2 ** this.#deaths++;
    this.#fillIn(Math.min(pause, BACKOFF_MILLISECONDS.most));
  }

  /** @param onDeath called where it ends while it waits. */
  #keep(child: JobChild, onDeath = () => this.#fillIn(0)): void {
    this.#waiting.push(child);
    void child.ended.then(() => {
      const place = this.#waiting.indexOf(child);
      if (place < 0) return;
      this.#waiting.splice(place, 1);
      onDeath();
    });
  }

  #dismiss(child: JobChild): void {
    this.#dismissed.add(child);
    void child.ended.then(() => this.#dismissed.delete(child));
    child.dismiss();
  }
}
