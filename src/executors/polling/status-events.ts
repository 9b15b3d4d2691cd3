import type { EpochPoint, EventBatch } from "../../contract/output/job-events.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import { batchOf } from "../event-gatherer.ts";
import type { ExecutionListener } from "../executor.ts";

/** Reports to a listener what is new in an attempt's status blob since the last read. */
export class StatusEvents {
  readonly #listener: ExecutionListener;
  /** Warnings and failures that were reported, as JSON. */
  readonly #reported = new Set<string>();
  /** The newest reported epoch of each network. */
  readonly #epochs = new Map<string, number>();
  /** The number of finished epochs at the last report. */
  #ended = 0;
  #counts = "";
  #progress = "";
  #hasSummary = false;

  constructor(listener: ExecutionListener) {
    this.#listener = listener;
  }

  report(status: StatusBlob | undefined): void {
    if (status === undefined) return;
    const { warnings, failures = [], epochs, progress } = status;
    const batch = batchOf({
      warnings: warnings.filter((entry) => this.#isNew(entry)),
      failures: failures.filter((entry) => this.#isNew(entry)),
      counts: this.#newCounts(status),
      epochs: epochs && this.#newEpochs(epochs),
      progress: this.#newProgress(progress),
      summary: this.#newSummary(status),
    });
    if (batch !== undefined) this.#listener.onEvents(batch);
  }

  /** Called once, at the end of the execution. */
  reportTimings(status: StatusBlob | undefined): void {
    if (status !== undefined) this.#listener.onTimings(status.timings);
  }

  #isNew(entry: object): boolean {
    const text = JSON.stringify(entry);
    const isNew = !this.#reported.has(text);
    this.#reported.add(text);
    return isNew;
  }

  #newCounts({ warning_counts: warnings, failure_counts: failures }: StatusBlob): EventBatch["counts"] {
    if (warnings === undefined || failures === undefined) return undefined;
    const counts = JSON.stringify([warnings, failures]);
    if (counts === this.#counts || counts === "[{},{}]") return undefined;
    this.#counts = counts;
    return { warnings, failures };
  }

  /** The blob holds epochs of the whole attempt, thinned repeatedly. New epochs are those after the last reported one of their network. */
  #newEpochs({ points, left_out = 0 }: NonNullable<EventBatch["epochs"]>): EventBatch["epochs"] {
    const fresh = points.filter((point) => point.epoch > (this.#epochs.get(nameOf(point)) ?? 0));
    for (const point of fresh) this.#epochs.set(nameOf(point), point.epoch);
    if (fresh.length === 0) return undefined;
    const ended = points.length + left_out;
    const more = ended - this.#ended - fresh.length;
    this.#ended = ended;
    return { points: fresh, ...(more > 0 ? { left_out: more } : {}) };
  }

  #newSummary({ summary }: StatusBlob): EventBatch["summary"] {
    if (this.#hasSummary || summary === undefined) return undefined;
    this.#hasSummary = true;
    return summary;
  }

  #newProgress(progress: StatusBlob["progress"]): EventBatch["progress"] {
    const text = JSON.stringify(progress);
    if (progress === null || text === this.#progress) return undefined;
    this.#progress = text;
    return progress;
  }
}

function nameOf({ ticker, member }: EpochPoint): string {
  return JSON.stringify([ticker, member]);
}
