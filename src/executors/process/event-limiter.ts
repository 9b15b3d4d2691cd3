import type { ExecutionEvent, JobEvent, Progress } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import { EpochPoints, pointOf } from "../epoch-points.ts";

const MILLISECONDS_BETWEEN = { progress: 100, summaries: 1_000 };

/**
 * Limits what a job process sends of the thousands of events that a job reports. It sends the first warnings and
 * failures one by one. Once a second at most it sends the epochs that have ended and the counts of warnings and failures.
 * It sends progress ten times a second at most, and always the first and the last of a stage.
 */
export class EventLimiter {
  readonly #send: (event: ExecutionEvent) => void;
  readonly #warnings = new CappedList<Warning>();
  readonly #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  readonly #progress = { sentAt: Number.NEGATIVE_INFINITY, stage: "" };
  #hasCounted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (event: ExecutionEvent) => void) {
    this.#send = send;
  }

  readonly report = (event: JobEvent): void => {
    switch (event.kind) {
      case "progress": {
        this.#addEpoch(event);
        this.#sendProgress(event);
        break;
      }
      case "warning": {
        this.#planSummaries(true);
        const warning = this.#warnings.add(event.warning);
        if (warning) this.#send({ kind: "warning", warning });
        break;
      }
      case "failure": {
        this.#planSummaries(true);
        const failure = this.#failures.add(event.failure);
        if (failure) this.#send({ kind: "failure", failure });
        break;
      }
      default:
        event satisfies never;
    }
  };

  /** Sends the epochs and counts that wait for their second. Called once the job has ended. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const epochs = this.#epochs.bounded();
    this.#epochs.clear();
    if (epochs) this.#send({ kind: "epochs", epochs });
    if (!this.#hasCounted) return;
    this.#hasCounted = false;
    const { counts: warnings } = this.#warnings;
    this.#send({ kind: "counts", warnings: { ...warnings }, failures: { ...this.#failures.counts } });
  }

  #addEpoch(event: Progress): void {
    const point = pointOf(event);
    if (point === undefined) return;
    this.#epochs.add(point);
    this.#planSummaries(false);
  }

  #sendProgress({ stage, done, total }: Progress): void {
    const isLast = total !== undefined && done >= total;
    const now = performance.now();
    const isEarly = now - this.#progress.sentAt < MILLISECONDS_BETWEEN.progress;
    if (stage === this.#progress.stage && !isLast && isEarly) return;
    this.#progress.sentAt = now;
    this.#progress.stage = stage;
    this.#send({ kind: "progress", stage, done, ...(total === undefined ? {} : { total }) });
  }

  #planSummaries(hasCounted: boolean): void {
    this.#hasCounted ||= hasCounted;
    this.#timer ??= setTimeout(() => this.flush(), MILLISECONDS_BETWEEN.summaries);
  }
}
