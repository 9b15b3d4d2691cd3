import type { EventBatch, JobEvent } from "../../contract/output/job-events.ts";
import { EventGatherer } from "../event-gatherer.ts";

const MILLISECONDS_BETWEEN = 1_000;

/** Sends the reports of a job in batches, at most one per second, because a job reports thousands of events. */
export class EventSender {
  readonly #send: (batch: EventBatch) => void;
  readonly #gathered = new EventGatherer();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (batch: EventBatch) => void) {
    this.#send = send;
  }

  readonly report = (event: JobEvent): void => {
    this.#gathered.report(event);
    this.#timer ??= setTimeout(() => this.flush(), MILLISECONDS_BETWEEN);
  };

  /** Sends the pending batch. Called once the job has ended. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#gathered.take();
    if (batch !== undefined) this.#send(batch);
  }
}
