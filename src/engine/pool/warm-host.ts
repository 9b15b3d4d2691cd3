import { type HostHearer, HostProcess } from "./host-process.ts";

export interface WarmHostOptions {
  readonly python: string;
  /** Modules to import now; whoever takes the host may need others. */
  readonly libraries: readonly string[];
  readonly workFolder: string;
}

const NOBODY: HostHearer = { onMessage: () => undefined, log: () => undefined };

/**
 * A host that is started before its job is known, so that importing libraries is over when the job comes; one job after
 * the other may have it.
 */
export class WarmHost {
  /** Settles once the libraries are imported, or the host has ended; never rejects. */
  readonly ready: Promise<unknown>;
  readonly #host: HostProcess;
  #imported = false;
  #ended = false;
  #taken = false;
  #closed = false;
  #hearer = NOBODY;

  constructor(options: WarmHostOptions) {
    const imported = Promise.withResolvers<void>();
    this.#host = new HostProcess({
      ...options,
      hearer: {
        log: (line) => this.#hearer.log(line),
        onMessage: (message) => {
          // Its first greeting is about what was imported ahead, which is nobody's answer.
          if (this.#imported || message.event !== "ready") this.#hearer.onMessage(message);
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

  /** Whether somebody may have it. */
  get waits(): boolean {
    return !this.#ended && !this.#taken;
  }

  /**
   * Gives the host away: it imports what is missing of `libraries` and then greets its hearer.
   * @returns undefined where it has ended, or is somebody's.
   */
  handOver(libraries: readonly string[], hearer: HostHearer): HostProcess | undefined {
    if (!this.waits) return undefined;
    this.#taken = true;
    this.#hearer = hearer;
    this.#host.send({ op: "import", libraries });
    return this.#host;
  }

  /** Is asked by whoever has it, once all its workers are gone. @returns false where it is to be ended. */
  takeBack(): boolean {
    if (this.#closed) return false;
    this.#hearer = NOBODY;
    this.#taken = false;
    return true;
  }

  /** Ends a host that nobody has; one that somebody has is not taken back. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#taken) return;
    this.#taken = true;
    // While it imports, it does not read its stdin.
    if (this.#imported) this.#host.endInput();
    else this.#host.kill();
    await this.#host.ended;
  }
}
