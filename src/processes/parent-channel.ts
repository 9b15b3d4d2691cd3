import { extname } from "node:path";
import { Worker } from "node:worker_threads";

interface ParentListener<FromParent> {
  readonly onMessage: (message: FromParent) => void;
  /** Called with the number of messages that `send` has dropped, once the parent has read those before them. */
  readonly onLost?: (messages: number) => void;
  /** Called when the parent has ended; the process is killed 2 s later. */
  readonly onParentEnd: () => void;
}

/** How many messages may wait for the parent to read them, before `send` drops one that may be lost. */
const MAX_UNREAD = 1_000;

/**
 * A child's end of the channel to the parent that has started it as a `SupervisedProcess`; one per process. The process ignores SIGINT,
 * SIGTERM and SIGHUP, because the parent decides when it ends, even if a whole group gets a signal.
 */
export class ParentChannel<FromParent, ToParent extends object> {
  /** Settles once the system has accepted every message. */
  #sent: Promise<void> = Promise.resolve();
  #unread = 0;
  #lost = 0;
  readonly #onLost: ((messages: number) => void) | undefined;

  constructor({ onMessage, onLost, onParentEnd }: ParentListener<FromParent>) {
    this.#onLost = onLost;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);
    // If the parent is gone, so are the readers of stdout and stderr.
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
    const here = import.meta.url;
    const watch = new Worker(new URL(`./watch-parent${extname(here)}`, here));
    watch.on("error", (error) => {
      throw error;
    });
    process.on("message", (message) => onMessage(message as FromParent));
    process.once("disconnect", onParentEnd);
  }

  /**
   * Sends a message. Settles once the system has accepted it and all before it, or the parent is gone; never rejects.
   * @param mayBeLost drops the message if a thousand earlier ones still wait.
   */
  send(message: ToParent, { mayBeLost = false } = {}): Promise<void> {
    if (mayBeLost && this.#unread >= MAX_UNREAD) {
      this.#lost += 1;
      return this.#sent;
    }
    this.#unread += 1;
    this.#sent = new Promise((resolve) => {
      process.send!(message, undefined, undefined, () => {
        this.#unread -= 1;
        if (this.#unread === 0) this.#reportLost();
        resolve();
      });
    });
    return this.#sent;
  }

  /** Ends this process once the system has accepted every message. */
  async exit(): Promise<void> {
    while (this.#unread > 0) await this.#sent;
    process.exit(0);
  }

  #reportLost(): void {
    const lost = this.#lost;
    this.#lost = 0;
    if (lost > 0) this.#onLost?.(lost);
  }
}
