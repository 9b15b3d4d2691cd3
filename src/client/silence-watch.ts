/** Aborts its signal once nothing has been heard for a time; the time does not pass while it is paused. */
export class SilenceWatch {
  readonly #milliseconds: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasHeard = false;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
    this.resume();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasHeard(): boolean {
    return this.#hasHeard;
  }

  /** Whether the time is over without anything having been heard. */
  get isMute(): boolean {
    return this.#controller.signal.aborted && !this.#hasHeard;
  }

  readonly heard = (): void => {
    this.#hasHeard = true;
    this.resume();
  };

  pause(): void {
    clearTimeout(this.#timer);
  }

  /** From the beginning of the time. */
  resume(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new TypeError(`nothing was heard for ${this.#milliseconds / 1_000} s`));
    }, this.#milliseconds);
  }
}
