/** Aborts its signal once nothing has been heard for a time. */
export class SilenceWatch {
  readonly #milliseconds: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasHeard = false;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
    this.#start();
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
    this.#start();
  };

  end(): void {
    clearTimeout(this.#timer);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new TypeError(`nothing was heard for ${this.#milliseconds / 1_000} s`));
    }, this.#milliseconds);
  }
}
