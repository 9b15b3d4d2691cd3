import { CappedList } from "../contract/api/answer-limits.ts";
import type { ExecutionEvent, JobEvent, Progress } from "../contract/api/job-events.ts";
import type { Warning } from "../contract/errors/warnings.ts";
import type { Failure } from "../contract/output/output-blob.ts";
import { EpochPoints, pointOf } from "./epoch-points.ts";

const MILLISECONDS_BETWEEN = 1_000;

/**
 * Makes of what a job reports what its executor tells: the first warnings and failures one by one, and once a second
 * at most the epochs that have ended and how many warnings and failures there are. Progress is passed on as it comes.
 */
export class ToldEvents {
  readonly #tell: (event: ExecutionEvent) => void;
  readonly #warnings = new CappedList<Warning>();
  readonly #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  #hasCounted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (event: ExecutionEvent) => void) {
    this.#tell = tell;
  }

  readonly report = (event: JobEvent): void => {
    if (event.kind === "progress") this.#progress(event);
    else this.#count(event);
  };

  /** Tells what is left, once the job is over. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const epochs = this.#epochs.told();
    this.#epochs.clear();
    if (epochs) this.#tell({ kind: "epochs", epochs });
    if (!this.#hasCounted) return;
    this.#hasCounted = false;
    const { counts: warnings } = this.#warnings;
    this.#tell({ kind: "counts", warnings: { ...warnings }, failures: { ...this.#failures.counts } });
  }

  #progress(event: Progress): void {
    const point = pointOf(event);
    if (point) {
      this.#epochs.add(point);
      this.#plan();
    }
    const { stage, done, total } = event;
    this.#tell({ kind: "progress", stage, done, ...(total === undefined ? {} : { total }) });
  }

  #count(event: Exclude<JobEvent, Progress>): void {
    this.#hasCounted = true;
    this.#plan();
    if (event.kind === "warning") {
      const warning = this.#warnings.add(event.warning);
      if (warning) this.#tell({ kind: "warning", warning });
    } else {
      const failure = this.#failures.add(event.failure);
      if (failure) this.#tell({ kind: "failure", failure });
    }
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => this.end(), MILLISECONDS_BETWEEN);
  }
}
