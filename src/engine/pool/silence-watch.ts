/** A gateway reports every 10 s that its loop is running; mucast_engine.cluster.gateway. */
export const SILENCE_SECONDS = 120;
const LOOKS = 8;

/**
 * Detects a gateway that sends nothing: one that was stopped or hangs loses no connection and would keep its tasks forever. It counts
 * checks of this process instead of time, because this process may have been stopped itself.
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
      // What the gateway wrote while this process was not running is read before the next immediate.
      if (this.#looks >= LOOKS) setImmediate(judge);
    };
    this.#timer = setInterval(look, (1_000 * SILENCE_SECONDS) / LOOKS).unref();
  }

  /** The gateway has sent something. */
  note(): void {
    this.#looks = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
