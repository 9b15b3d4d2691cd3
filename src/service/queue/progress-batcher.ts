import type { ExecutionEvent, Progress } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import { EpochPoints, pointOf } from "../../executors/epoch-points.ts";
import type { ProgressBatch } from "../store/record-progress.ts";

const MILLISECONDS_BETWEEN = 1_000;

/**
 * Collects the events of a job into batches. It stores at most one batch per second, one at a time, and the rest at the job's end. It
 * stores nothing before `begin`, which the running job calls after the event `started` is stored. A batch is bounded while the store
 * is slow or unreachable: it keeps the first warnings and failures and thins out epochs.
 */
export class ProgressBatcher {
  readonly #store: (batch: ProgressBatch) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #warnings = new CappedList<Warning>();
  #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  #counts: ProgressBatch["counts"] = null;
  #progress: ProgressBatch["progress"] = null;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> | undefined;
  #begun = false;

  /** @param onError called if a batch could not be stored. The batch is lost; the job continues. */
  constructor(store: (batch: ProgressBatch) => Promise<void>, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  readonly take = (event: ExecutionEvent): void => {
    switch (event.kind) {
      case "warning":
        this.#warnings.add(event.warning);
        break;
      case "failure":
        this.#failures.add(event.failure);
        break;
      case "epochs":
        this.#epochs.addAll(event.epochs);
        break;
      case "counts":
        this.#counts = { warnings: event.warnings, failures: event.failures };
        break;
      case "progress":
        this.#takeProgress(event);
        break;
      default:
        event satisfies never;
    }
    this.#schedule();
  };

  /** Allows batches to be stored, including earlier events. */
  begin(): void {
    this.#begun = true;
    if (!this.#isEmpty()) this.#schedule();
  }

  /** Stores the rest and waits until everything is stored; does nothing if it never began. */
  async flush(): Promise<void> {
    if (!this.#begun) return;
    await this.#storing;
    await this.#storeBatch();
  }

  #takeProgress(event: Progress): void {
    const { stage, done, total } = event;
    this.#progress = { stage, done, total: total ?? null };
    const point = pointOf(event);
    if (point) this.#epochs.add(point);
  }

  #schedule(): void {
    if (!this.#begun || this.#storing !== undefined) return;
    this.#timer ??= setTimeout(() => void this.#storeBatch(), MILLISECONDS_BETWEEN);
  }

  #storeBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#takeBatch();
    if (batch === undefined) return Promise.resolve();
    this.#storing = this.#store(batch)
      .catch(this.#onError)
      .finally(() => {
        this.#storing = undefined;
        if (!this.#isEmpty()) this.#schedule();
      });
    return this.#storing;
  }

  /** The events since the last batch; undefined if there are none. */
  #takeBatch(): ProgressBatch | undefined {
    if (this.#isEmpty()) return undefined;
    const batch = {
      warnings: this.#warnings.entries,
      failures: this.#failures.entries,
      epochs: this.#epochs.bounded() ?? null,
      counts: this.#counts,
      progress: this.#progress,
    };
    this.#warnings = new CappedList();
    this.#failures = new CappedList();
    this.#epochs.clear();
    this.#counts = null;
    this.#progress = null;
    return batch;
  }

  #isEmpty(): boolean {
    const listed = this.#warnings.entries.length + this.#failures.entries.length;
    return listed === 0 && this.#epochs.isEmpty && this.#counts === null && this.#progress === null;
  }
}
