import type { EventBatch, JobEvent, Progress } from "../contract/output/job-events.ts";
import type { Failure } from "../contract/problems/problem.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { CappedList } from "../contract/schema/answer-limits.ts";
import { EpochPoints, pointOf } from "./epoch-points.ts";

/** Every part of a batch; undefined or an empty list if there is nothing to report. */
type Parts = { readonly [P in keyof EventBatch]-?: EventBatch[P] | undefined };

/** A batch of the parts that are not empty; undefined if all are. */
export function batchOf(parts: Parts): EventBatch | undefined {
  const isFull = (part: unknown) => part !== undefined && !(Array.isArray(part) && part.length === 0);
  const full = Object.entries(parts).filter(([, part]) => isFull(part));
  return full.length === 0 ? undefined : Object.fromEntries(full);
}

/**
 * Gathers the events of a job in bounded memory: the first warnings and failures of the attempt, counts of all of them, thinned epochs, and
 * the newest progress.
 */
export class EventGatherer {
  readonly #warnings = new CappedList<Warning>();
  readonly #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  #counts: EventBatch["counts"];
  #progress: EventBatch["progress"];
  /** How many of the listed warnings and failures `take` has returned. */
  #taken = { warnings: 0, failures: 0 };

  /** Adds an event of the job. */
  report(event: JobEvent): void {
    switch (event.kind) {
      case "progress":
        this.#addProgress(event);
        break;
      case "warning":
        this.#warnings.add(event.warning);
        this.#addCounts();
        break;
      case "failure":
        this.#failures.add(event.failure);
        this.#addCounts();
        break;
      default:
        event satisfies never;
    }
  }

  /** Adds a batch from another gatherer. */
  add({ warnings = [], failures = [], epochs, counts, progress }: EventBatch): void {
    for (const warning of warnings) this.#warnings.add(warning);
    for (const failure of failures) this.#failures.add(failure);
    if (epochs !== undefined) this.#epochs.addAll(epochs);
    this.#counts = counts ?? this.#counts;
    this.#progress = progress ?? this.#progress;
  }

  /** What was gathered since the last `take`; undefined if nothing was. */
  get batch(): EventBatch | undefined {
    return batchOf({
      warnings: this.#warnings.entries.slice(this.#taken.warnings),
      failures: this.#failures.entries.slice(this.#taken.failures),
      counts: this.#counts,
      epochs: this.#epochs.bounded(),
      progress: this.#progress,
    });
  }

  /** Returns the batch and starts the next one. */
  take(): EventBatch | undefined {
    const { batch } = this;
    this.#taken = { warnings: this.#warnings.entries.length, failures: this.#failures.entries.length };
    this.#epochs.clear();
    this.#counts = undefined;
    this.#progress = undefined;
    return batch;
  }

  #addCounts(): void {
    this.#counts = { warnings: { ...this.#warnings.counts }, failures: { ...this.#failures.counts } };
  }

  #addProgress(event: Progress): void {
    const { stage, done, total = null } = event;
    this.#progress = { stage, done, total };
    const point = pointOf(event);
    if (point !== undefined) this.#epochs.add(point);
  }
}
