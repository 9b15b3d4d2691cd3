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
  /** Called when the service stops responding, with the time, and when it responds again. */
  onChange(downSince: Date | undefined): void;
}

/**
 * Whether the service responds, judged by the requests of the console: every request goes through `fetch`. If one gets no response,
 * the link is down, and it retries by itself until the service responds again.
 */
export class ServiceLink {
  readonly #options: LinkOptions;
  /** While the service does not respond: settles when it does. */
  #down: PromiseWithResolvers<void> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    try {
      const response = await this.#options.fetch(input, init);
      if (UNREACHABLE_STATUSES.has(response.status)) this.lost();
      else this.#found();
      if (response.status === 401) this.#options.onRefused();
      return response;
    } catch (error) {
      if (!init?.signal?.aborted) this.lost();
      throw error;
    }
  };

  /** Resolves when the service responds. @throws the signal's reason. */
  async up(signal: AbortSignal): Promise<void> {
    const left = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => left.resolve(), { once: true });
    await Promise.race([left.promise, this.#down?.promise]);
    signal.throwIfAborted();
  }

  /** Also called for a request that waits in vain. */
  lost(): void {
    if (this.#down !== undefined || this.#options.signal.aborted) return;
    this.#down = Promise.withResolvers();
    this.#options.onChange(new Date());
    void this.#tryAgain();
  }

  #found(): void {
    if (this.#down === undefined) return;
    this.#down.resolve();
    this.#down = undefined;
    this.#options.onChange(undefined);
  }

  async #tryAgain(): Promise<void> {
    const { probeUrl, signal } = this.#options;
    for (let wait = RETRY_MS.first; ; wait = Math.min(2 * wait, RETRY_MS.most)) {
      const online = new AbortController();
      addEventListener("online", () => online.abort(), { signal: online.signal });
      await pause(wait, AbortSignal.any([signal, online.signal]));
      online.abort();
      if (this.#down === undefined || signal.aborted) return;
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(RETRY_MS.most)]);
      // Only whether it responds matters: `fetch` sees it.
      await this.fetch(probeUrl, { signal: timeout, cache: "no-store" }).catch(() => undefined);
    }
  }
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
