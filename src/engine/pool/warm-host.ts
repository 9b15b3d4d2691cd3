import { type HostListener, HostProcess } from "./host-process.ts";

interface WarmHostOptions {
  readonly python: string;
  /** Modules to import now; a pool that acquires the host may need others. */
  readonly libraries: readonly string[];
  readonly workFolder: string;
}

/** Discards messages between two pools. */
const NO_LISTENER: HostListener = { onMessage: () => undefined, log: () => undefined };

/**
 * A host that starts before its job is known, so that its libraries are imported when the job comes. One pool after the other may acquire
 * it.
 */
export class WarmHost {
  /** Settles once the libraries are imported, or the host has ended; never rejects. */
  readonly ready: Promise<unknown>;
  readonly #host: HostProcess;
  #imported = false;
  #ended = false;
  #acquired = false;
  #closed = false;
  #listener = NO_LISTENER;

  constructor(options: WarmHostOptions) {
    const imported = Promise.withResolvers<void>();
    this.#host = new HostProcess({
      ...options,
      listener: {
        log: (line) => this.#listener.log(line),
        onMessage: (message) => {
          // Its first greeting lists the libraries imported ahead; a pool waits for the answer to its own import.
          if (this.#imported || message.event !== "ready") this.#listener.onMessage(message);
          this.#imported = true;
          imported.resolve();
        },
      },
    });
    this.ready = Promise.race([imported.promise, this.#host.ended]);
    void this.#host.ended.then(() => {
      this.#ended = true;
    });
  }

  /** Whether a pool may acquire it. */
  get waits(): boolean {
    return !this.#ended && !this.#acquired;
  }

  /**
   * Lends the host to a pool. The host imports what is missing of `libraries` and then greets `listener`.
   * @returns undefined if it has ended, or another pool has it.
   */
  acquire(libraries: readonly string[], listener: HostListener): HostProcess | undefined {
    if (!this.waits) return undefined;
    this.#acquired = true;
    this.#listener = listener;
    this.#host.send({ op: "import", libraries });
    return this.#host;
  }

  /** Called by the pool that has it, once all workers have ended. @returns false if that pool has to close it. */
  release(): boolean {
    if (this.#closed) return false;
    this.#listener = NO_LISTENER;
    this.#acquired = false;
    return true;
  }

  /** Stops the host if no pool has it; a pool that has it closes it after its job. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#acquired) return;
    this.#acquired = true;
    // While it imports, it does not read its stdin.
    if (this.#imported) this.#host.stop();
    else this.#host.kill();
    await this.#host.ended;
  }
}
