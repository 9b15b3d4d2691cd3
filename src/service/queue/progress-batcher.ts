import { CappedList } from "../../contract/api/answer-limits.ts";
import type { ExecutionEvent, Progress } from "../../contract/api/job-events.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import { EpochPoints, pointOf } from "../../executors/epoch-points.ts";
import type { ProgressBatch } from "../store/record-progress.ts";

const MILLISECONDS_BETWEEN = 1_000;

/**
 * Gathers what a job tells and hands it on at most once a second, one after the other, and the rest at its end. What
 * waits for a store that is slow or away is bounded: the first of many warnings and failures, epochs thinned.
 */
export class ProgressBatcher {
  readonly #store: (news: ProgressBatch) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #warnings = new CappedList<Warning>();
  #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  #counts: ProgressBatch["counts"] = null;
  #progress: ProgressBatch["progress"] = null;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> | undefined;

  /** @param onError called where news could not be stored: they are lost, the job is not. */
  constructor(store: (news: ProgressBatch) => Promise<void>, onError: (error: unknown) => void) {
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
    }
    this.#plan();
  };

  /** Stores what is left and waits until all of it is. */
  async end(): Promise<void> {
    await this.#storing;
    await this.#hand();
  }

  #takeProgress(event: Progress): void {
    const { stage, done, total } = event;
    this.#progress = { stage, done, total: total ?? null };
    const point = pointOf(event);
    if (point) this.#epochs.add(point);
  }

  #plan(): void {
    if (this.#storing !== undefined) return;
    this.#timer ??= setTimeout(() => void this.#hand(), MILLISECONDS_BETWEEN);
  }

  #hand(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const news = this.#news();
    if (news === undefined) return Promise.resolve();
    this.#storing = this.#store(news)
      .catch(this.#onError)
      .finally(() => {
        this.#storing = undefined;
        if (this.#hasNews()) this.#plan();
      });
    return this.#storing;
  }

  /** What has come since the last time; undefined where that is nothing. */
  #news(): ProgressBatch | undefined {
    if (!this.#hasNews()) return undefined;
    const news = {
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
    return news;
  }

  #hasNews(): boolean {
    const listed = this.#warnings.entries.length + this.#failures.entries.length;
    return listed > 0 || !this.#epochs.isEmpty || this.#counts !== null || this.#progress !== null;
  }
}
