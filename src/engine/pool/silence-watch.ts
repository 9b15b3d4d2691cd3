/** A gateway says every 10 s that its loop runs; mucast_engine.cluster.gateway. */
export const SILENCE_SECONDS = 120;
const LOOKS = 8;

/**
 * Watches that a gateway tells something: one that was stopped, or hangs, loses no connection and would keep its tasks for
 * ever. It counts looks of this process and no time, since this one may have been stopped itself.
 */
export class SilenceWatch {
  readonly #timer: NodeJS.Timeout;
  /** Since the last message. */
  #looks = 0;

  /** @param onSilent called after SILENCE_SECONDS without a call of `note`. */
  constructor(onSilent: () => void) {
    const judge = () => {
      if (this.#looks >= LOOKS) onSilent();
    };
    const look = () => {
      this.#looks++;
      // What the gateway has written while this process did not run is read before an immediate.
      if (this.#looks >= LOOKS) setImmediate(judge);
    };
    this.#timer = setInterval(look, (1_000 * SILENCE_SECONDS) / LOOKS).unref();
  }

  /** The gateway has told something. */
  note(): void {
    this.#looks = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
