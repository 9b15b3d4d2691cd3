import type { EventBatch, JobEvent } from "../../contract/output/job-events.ts";
import { EventGatherer } from "../event-gatherer.ts";

const MILLISECONDS_BETWEEN = 1_000;

/**
 * Sends the reports of a job in batches, at most one per second, because a job reports thousands of events. While the service has not read
 * a batch, further events are gathered in bounded memory.
 */
export class EventSender {
  readonly #send: (batch: EventBatch) => Promise<void>;
  readonly #gathered = new EventGatherer();
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;

  /** @param send settles once the batch is sent; never rejects. */
  constructor(send: (batch: EventBatch) => Promise<void>) {
    this.#send = send;
  }

  readonly report = (event: JobEvent): void => {
    this.#gathered.report(event);
    this.#plan();
  };

  /** Sends the pending batch. Called once the job has ended. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#gathered.take();
    if (batch === undefined) return;
    this.#isSending = true;
    void this.#send(batch).then(() => {
      this.#isSending = false;
    });
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#isSending) this.#plan();
      else this.flush();
    }, MILLISECONDS_BETWEEN);
  }
}
