import type { MucastError } from "../../contract/errors/errors.ts";

/** How long a page that could not be drawn is not retried: reloads and retries of clients do not draw it again. */
const FAILURE_MILLISECONDS = 30_000;
const FAILURES_KEPT = 1_000;

interface Failure {
  readonly error: MucastError;
  /** Milliseconds on the clock `now`. */
  readonly until: number;
}

/** The most recently requested pages, up to a number of bytes, and the failures of the last 30 seconds. */
export class PageCache {
  readonly #most: number;
  readonly #now: () => number;
  /** The least recently used one comes first. */
  readonly #pages = new Map<string, Buffer>();
  readonly #failures = new Map<string, Failure>();
  #bytes = 0;

  constructor(mostBytes: number, now: () => number = () => performance.now()) {
    this.#most = mostBytes;
    this.#now = now;
  }

  get(key: string): Buffer | MucastError | undefined {
    const page = this.#pages.get(key);
    if (page !== undefined) {
      this.#pages.delete(key);
      this.#pages.set(key, page);
      return page;
    }
    const failure = this.#failures.get(key);
    return failure !== undefined && failure.until > this.#now() ? failure.error : undefined;
  }

  /** Keeps a page instead of the least recently used ones, unless it is larger than the whole cache. */
  keep(key: string, page: Buffer): void {
    this.#remove(key);
    if (page.length > this.#most) return;
    this.#pages.set(key, page);
    this.#bytes += page.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#most) return;
      this.#remove(oldest);
    }
  }

  keepFailure(key: string, error: MucastError): void {
    this.#failures.delete(key);
    this.#failures.set(key, { error, until: this.#now() + FAILURE_MILLISECONDS });
    if (this.#failures.size > FAILURES_KEPT) this.#failures.delete(this.#failures.keys().next().value!);
  }

  #remove(key: string): void {
    this.#bytes -= this.#pages.get(key)?.length ?? 0;
    this.#pages.delete(key);
  }
}
