import type { Timing } from "../../contract/output/job-events.ts";

export type OnTiming = (timing: Timing) => void;

export interface Timed {
  readonly onTiming?: OnTiming | undefined;
}

export function now(): number {
  return performance.timeOrigin + performance.now();
}

export async function timed<T>({ onTiming }: Timed, name: string, body: () => T | Promise<T>): Promise<T> {
  const start = now();
  try {
    return await body();
  } finally {
    onTiming?.({ name, start, end: now() });
  }
}

const TIMED_TICKERS = 200;

/**
 * The time that the engine spends on fitting: for each of the first tickers from its first fit to its last (`fit AAPL`), and for all of
 * them (`fit`). Spans of tickers overlap when workers run in parallel.
 */
export class FitTimings {
  readonly #onTiming: OnTiming | undefined;
  readonly #started = new Map<string, number>();
  #timed = 0;
  #first = Number.POSITIVE_INFINITY;

  constructor({ onTiming }: Timed) {
    this.#onTiming = onTiming;
  }

  /** A fit of `ticker`, or its network, has just ended. @param seconds its duration. */
  add(ticker: string, seconds: number): void {
    if (this.#onTiming === undefined) return;
    const start = now() - 1_000 * seconds;
    this.#started.set(ticker, Math.min(start, this.#started.get(ticker) ?? start));
    this.#first = Math.min(this.#first, start);
  }

  finish(ticker: string): void {
    const start = this.#started.get(ticker);
    this.#started.delete(ticker);
    if (start !== undefined && this.#timed++ < TIMED_TICKERS) {
      this.#onTiming?.({ name: `fit ${ticker}`, start, end: now() });
    }
  }

  finishAll(): void {
    if (Number.isFinite(this.#first)) this.#onTiming?.({ name: "fit", start: this.#first, end: now() });
  }
}
