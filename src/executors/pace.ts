/** Repeats a piece of work while there is a reason to: at most once per pause, and never twice at a time. */
export class Pace {
  readonly #work: () => Promise<void>;
  readonly #milliseconds: number;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Whether `plan` was called since the last piece of work began. */
  #isPlanned = false;
  #isStopped = false;

  /** @param work never rejects. */
  constructor(milliseconds: number, work: () => Promise<void>) {
    this.#milliseconds = milliseconds;
    this.#work = work;
  }

  /** Works after a pause, and after the work in progress. */
  plan(): void {
    this.#isPlanned = true;
    if (this.#isStopped || this.#timer !== undefined || this.#working !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isPlanned = false;
      this.#working = this.#work().then(() => {
        this.#working = undefined;
        if (this.#isPlanned) this.plan();
      });
    }, this.#milliseconds).unref();
  }

  /** Plans no more work. Settles once none is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }
}
