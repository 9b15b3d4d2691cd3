import type { EpochPoint, Epochs, ExecutionEvent } from "../../contract/output/job-events.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { ExecutionListener } from "../executor.ts";

/** Reports to a listener what is new in an attempt's status blob since it was read last. */
export class StatusEvents {
  readonly #listener: ExecutionListener;
  /** Warnings and failures that were reported, as JSON. */
  readonly #reported = new Set<string>();
  /** The newest epoch of each network that was reported. */
  readonly #epochs = new Map<string, number>();
  /** How many epochs had ended when they were reported last. */
  #ended = 0;
  #counts = "";
  #progress = "";

  constructor(listener: ExecutionListener) {
    this.#listener = listener;
  }

  report(status: StatusBlob | undefined): void {
    if (status === undefined) return;
    for (const read of Object.values(this.#readers)) {
      for (const event of read(status)) this.#listener.onEvent(event);
    }
  }

  /** Called once, at the end of the execution. */
  reportTimings(status: StatusBlob | undefined): void {
    if (status !== undefined) this.#listener.onTimings(status.timings);
  }

  /** The new events of each kind, in the order in which they are reported. A new kind lacks its line, and this does not compile. */
  readonly #readers: {
    readonly [K in ExecutionEvent["kind"]]: (status: StatusBlob) => Extract<ExecutionEvent, { kind: K }>[];
  } = {
    warning: ({ warnings }) =>
      warnings.filter((entry) => this.#isNew(entry)).map((warning) => ({ kind: "warning", warning })),
    failure: ({ failures = [] }) =>
      failures.filter((entry) => this.#isNew(entry)).map((failure) => ({ kind: "failure", failure })),
    counts: (status) => this.#newCounts(status),
    epochs: ({ epochs }) => (epochs ? this.#newEpochs(epochs) : []),
    progress: ({ progress }) => this.#newProgress(progress),
  };

  #isNew(entry: object): boolean {
    const text = JSON.stringify(entry);
    const isNew = !this.#reported.has(text);
    this.#reported.add(text);
    return isNew;
  }

  #newCounts({ warning_counts: warnings, failure_counts: failures }: StatusBlob) {
    if (warnings === undefined || failures === undefined) return [];
    const counts = JSON.stringify([warnings, failures]);
    if (counts === this.#counts || counts === "[{},{}]") return [];
    this.#counts = counts;
    return [{ kind: "counts" as const, warnings, failures }];
  }

  /** The blob holds epochs of the whole attempt, thinned again and again: new are those that follow the last reported one of their network. */
  #newEpochs({ points, left_out = 0 }: Epochs) {
    const fresh = points.filter((point) => point.epoch > (this.#epochs.get(nameOf(point)) ?? 0));
    for (const point of fresh) this.#epochs.set(nameOf(point), point.epoch);
    if (fresh.length === 0) return [];
    const ended = points.length + left_out;
    const more = ended - this.#ended - fresh.length;
    this.#ended = ended;
    return [{ kind: "epochs" as const, epochs: { points: fresh, ...(more > 0 ? { left_out: more } : {}) } }];
  }

  #newProgress(progress: StatusBlob["progress"]) {
    const text = JSON.stringify(progress);
    if (progress === null || text === this.#progress) return [];
    this.#progress = text;
    const { stage, done, total } = progress;
    return [{ kind: "progress" as const, stage, done, ...(total === null ? {} : { total }) }];
  }
}

function nameOf({ ticker, member }: EpochPoint): string {
  return JSON.stringify([ticker, member]);
}
