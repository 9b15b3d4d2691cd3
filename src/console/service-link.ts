/** Statuses that a proxy returns if its service does not respond. */
const UNREACHABLE_STATUSES = new Set([502, 504]);
/** Milliseconds between two tries while the service is away: doubling, from the first to the most. */
const RETRY_MS = { first: 1_000, most: 10_000 };

interface LinkOptions {
  readonly fetch: typeof fetch;
  /** An address whose answer, with any status, shows that the service is up. */
  readonly probeUrl: string;
  /** Stops the tries. */
  readonly signal: AbortSignal;
  /** Called for each answer that refuses the credentials. */
  onRefused(): void;
}

/**
 * Whether the service responds, judged by the requests of the console: every request goes through `fetch`. If one gets no response,
 * the link is down, and it retries by itself until the service responds again.
 */
export class ServiceLink {
  readonly #options: LinkOptions;
  readonly #listeners = new Set<() => void>();
  #downSince: Date | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** When a request first got no response; undefined while the service responds. */
  get downSince(): Date | undefined {
    return this.#downSince;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    try {
      const response = await this.#options.fetch(input, init);
      if (UNREACHABLE_STATUSES.has(response.status)) this.lost();
      else this.#markUp();
      if (response.status === 401) this.#options.onRefused();
      return response;
    } catch (error) {
      if (!init?.signal?.aborted) this.lost();
      throw error;
    }
  };

  /** Calls a listener each time the link goes down or up. */
  onChange(listener: () => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  /** Resolves when the service responds. @throws the signal's reason. */
  async up(signal: AbortSignal): Promise<void> {
    while (this.#downSince !== undefined) {
      signal.throwIfAborted();
      const done = new AbortController();
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true, signal: done.signal });
        this.onChange(resolve, done.signal);
      });
      done.abort();
    }
  }

  /** Also ends a request that waits in vain. */
  lost(): void {
    if (this.#downSince !== undefined || this.#options.signal.aborted) return;
    this.#downSince = new Date();
    this.#notify();
    void this.#tryAgain();
  }

  #markUp(): void {
    if (this.#downSince === undefined) return;
    this.#downSince = undefined;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #tryAgain(): Promise<void> {
    const { probeUrl, signal } = this.#options;
    for (let wait = RETRY_MS.first; ; wait = Math.min(2 * wait, RETRY_MS.most)) {
      await pauseUntilOnline(wait, signal);
      if (this.#downSince === undefined || signal.aborted) return;
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(RETRY_MS.most)]);
      // Only whether it responds matters: `fetch` sees it.
      await this.fetch(probeUrl, { signal: timeout, cache: "no-store" }).catch(() => undefined);
    }
  }
}

/** Resolves after `milliseconds`, or as soon as the browser is online again, or the signal aborts. */
async function pauseUntilOnline(milliseconds: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  addEventListener("online", () => over.abort(), { signal: over.signal });
  await pause(milliseconds, AbortSignal.any([signal, over.signal]));
  over.abort();
}

/** Resolves after `milliseconds`, or as soon as the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
