import { MucastError } from "../contract/errors/errors.ts";

const MAX_WAITING = 50;
/** Maximum number of waiting requests of one caller, so that others have room. */
const WAITING_OF_A_CALLER = 10;
const RETRY_SECONDS = 5;

interface TurnLimits {
  /** Maximum number of requests that do it in parallel. */
  readonly atOnce: number;
  /** What they wait for, such as `read an output`. */
  readonly what: string;
}

/** Starts the work of a waiting request. */
type Begin = () => void;

/**
 * Work that only a limited number of requests may do in parallel. The others wait: callers take turns, each in the order of its
 * requests.
 */
export class CallerTurns {
  readonly #limits: TurnLimits;
  /** The waiting requests of each caller. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<Begin>>();
  #working = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /**
   * Does the work when there is room.
   * @throws MucastError rate_limited if too many requests of the caller wait, unavailable if too many of all callers do; canceled if
   * the signal aborts while it waits; what the work throws.
   */
  async run<T>(
    { subject }: { readonly subject: string },
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    if (this.#working === this.#limits.atOnce) await this.#turn(subject, signal);
    else this.#working += 1;
    try {
      return await work();
    } finally {
      this.#beginNext();
    }
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#working -= 1;
      return;
    }
    const [subject, turns] = next;
    const [begin] = turns;
    this.#waiting.delete(subject);
    turns.delete(begin!);
    if (turns.size > 0) this.#waiting.set(subject, turns);
    begin!();
  }

  /** Waits until another request has done its work. */
  async #turn(subject: string, signal: AbortSignal | undefined): Promise<void> {
    this.#checkRoom(subject);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(subject, (this.#waiting.get(subject) ?? new Set()).add(resolve));
    const abort = () => {
      this.#leave(subject, resolve);
      // Has no effect if it has started.
      reject(abortError(signal!, this.#limits.what));
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    await promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  #leave(subject: string, begin: Begin): void {
    const turns = this.#waiting.get(subject);
    turns?.delete(begin);
    if (turns?.size === 0) this.#waiting.delete(subject);
  }

  #checkRoom(subject: string): void {
    const { what } = this.#limits;
    const own = this.#waiting.get(subject)?.size ?? 0;
    const all = [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
    const data = { retryAfter: RETRY_SECONDS };
    if (own >= WAITING_OF_A_CALLER) {
      throw new MucastError("rate_limited", `${own} requests of this caller wait to ${what}`, data);
    }
    if (all >= MAX_WAITING) {
      const message = `${MAX_WAITING} others wait to ${what} already; try again later`;
      throw new MucastError("unavailable", message, data);
    }
  }
}

/** The error of a request whose caller has left, or whose service closes: the signal's reason if that is a MucastError. */
export function abortError({ reason }: AbortSignal, what: string): MucastError {
  return reason instanceof MucastError
    ? reason
    : new MucastError("canceled", `the request to ${what} was given up`);
}
