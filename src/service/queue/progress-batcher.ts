import type { EventBatch } from "../../contract/output/job-events.ts";
import { EventGatherer } from "../../executors/event-gatherer.ts";
import { StagePace } from "./stage-pace.ts";

/**
 * Stores the batches of a job, one at a time, and gathers those that arrive meanwhile in bounded memory. It stores nothing before
 * `begin`, which the running job calls once the event `started` is stored.
 */
export class ProgressBatcher {
  readonly #store: (batch: EventBatch) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #gathered = new EventGatherer();
  readonly #pace = new StagePace();
  #storing: Promise<void> | undefined;
  #hasBegun = false;

  /** @param onError called if a batch could not be stored. The batch is lost; the job continues. */
  constructor(store: (batch: EventBatch) => Promise<void>, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  readonly take = (batch: EventBatch): void => {
    const { progress } = batch;
    this.#gathered.add(
      progress === undefined ? batch : { ...batch, progress: this.#pace.complete(progress) },
    );
    this.#storeNext();
  };

  /** Starts to store batches, including those received before. */
  begin(): void {
    this.#hasBegun = true;
    this.#storeNext();
  }

  /** Waits until everything is stored; returns at once if it never began. */
  async flush(): Promise<void> {
    while (this.#storing !== undefined) await this.#storing;
  }

  #storeNext(): void {
    if (!this.#hasBegun || this.#storing !== undefined) return;
    const batch = this.#gathered.take();
    if (batch === undefined) return;
    this.#storing = this.#store(batch)
      .catch(this.#onError)
      .finally(() => {
        this.#storing = undefined;
        this.#storeNext();
      });
  }
}
