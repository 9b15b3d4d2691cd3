import type { MucastError } from "../../contract/errors/errors.ts";
import { gatewayStartError, hostError, lostClusterError, startError } from "./engine-errors.ts";
import {
  type HostEnd,
  type HostListener,
  type HostOptions,
  HostProcess,
  type WarmHost,
} from "./host-process.ts";
import type { EngineMessage, EngineRequest } from "./protocol.ts";

interface EngineHostOptions extends HostOptions, HostListener {
  readonly warmHost?: WarmHost | undefined;
  /**
   * Called when a host has ended together with its workers.
   * @param error why the pool cannot continue with another host.
   * @returns whether to start another one.
   */
  readonly onEnd: (end: HostEnd, error: MucastError | undefined) => boolean;
}

/** The number of hosts that a pool starts, one after the other. */
const HOSTS = 2;
/** Time limit for a host that is asked to end; a gateway first cancels its tasks on every node. */
const GRACE_MILLISECONDS = { host: 5_000, gateway: 15_000 };

/**
 * The current host of a pool: the warm one that it was given, or its own, and another when that one ends. There is one at a time, and
 * requests go to it.
 */
export class EngineHost {
  readonly #options: EngineHostOptions;
  #process: HostProcess;
  /** The number of hosts started, without a warm one that ended before it was ready. */
  #started = 0;
  #isReady = false;
  /** Whether any host was ready. */
  #wasReady = false;
  #isWarm = false;

  constructor(options: EngineHostOptions) {
    this.#options = options;
    this.#process = this.#begin(options.warmHost);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Whether its libraries are imported, so that it accepts requests. */
  get isReady(): boolean {
    return this.#isReady;
  }

  send(request: EngineRequest, task?: object): void {
    this.#process.send(request, task);
  }

  /** Asks the process to end and returns at once; kills it if it takes too long. */
  stop(): void {
    const stopped = this.#process;
    stopped.stop();
    const impatience = setTimeout(() => stopped.kill(), this.graceMilliseconds);
    void stopped.ended.then(() => clearTimeout(impatience));
  }

  /** Kills the process, and with it its workers. @param why the reason of its end. */
  kill(why?: string): void {
    this.#process.kill(why);
  }

  /**
   * Releases a warm host for another pool, once `idle` has shown that it has no worker.
   * @returns false if the host is the pool's own, has ended or is not taken back; `close` it then.
   */
  async release(idle: () => Promise<void>): Promise<boolean> {
    if (!this.#isWarm || !this.#isReady) return false;
    const ended = this.#process.ended.then(() => false);
    // A host that does not end its workers in time is killed, and ends as well.
    const isIdle = await Promise.race([idle().then(() => true), ended]);
    return isIdle && this.#options.warmHost!.release();
  }

  /** Stops the process, or kills it if it takes too long. Returns once it has ended. */
  async close(): Promise<void> {
    // While it imports, the host has no workers and does not read its stdin.
    if (this.#isReady) this.stop();
    else this.#process.kill();
    await this.#process.ended;
  }

  get graceMilliseconds(): number {
    return GRACE_MILLISECONDS[this.#options.cluster ? "gateway" : "host"];
  }

  #begin(warmHost?: WarmHost): HostProcess {
    this.#started++;
    this.#isReady = false;
    const { libraries, log } = this.#options;
    const listener = { onMessage: (message: EngineMessage) => this.#onMessage(message), log };
    const warm = warmHost?.acquire(libraries, listener);
    const host = warm ?? new HostProcess(this.#options, listener, this.#wasReady);
    this.#isWarm = warm !== undefined;
    void host.ended.then((end) => this.#onEnd(end));
    return host;
  }

  #onMessage(message: EngineMessage): void {
    if (message.event === "ready") {
      this.#isReady = true;
      this.#wasReady = true;
    }
    this.#options.onMessage(message);
  }

  #onEnd(end: HostEnd): void {
    if (this.#options.onEnd(end, this.#errorOf(end))) this.#process = this.#begin();
  }

  /** Why no other host is started after this end; undefined if one may be. */
  #errorOf(end: HostEnd): MucastError | undefined {
    if (this.#isWarm && !this.#isReady) {
      // It was started before the job, and anything may have ended it since, so its end says nothing about the job.
      this.#started = 0;
      return undefined;
    }
    const { python, cluster } = this.#options;
    if (!this.#isReady) {
      // Something that kills a host while it imports or connects says as little as something that kills it while it computes.
      if (end.signal !== null && !end.wasKilled && this.#started < HOSTS) return undefined;
      if (!cluster) return startError(python, end);
      const error = gatewayStartError(cluster, python, end);
      return this.#wasReady ? lostClusterError(cluster, error) : error;
    }
    return this.#started < HOSTS ? undefined : hostError(cluster, end);
  }
}
