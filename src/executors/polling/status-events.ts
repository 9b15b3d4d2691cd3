import type { EpochPoint, Epochs } from "../../contract/api/job-events.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { ExecutionListener } from "../executor.ts";

/** Tells a listener what is new in an attempt's status blob since it was last read. */
export class StatusEvents {
  readonly #listener: ExecutionListener;
  /** As JSON. */
  readonly #told = new Set<string>();
  /** The newest epoch of each network that was told. */
  readonly #epochs = new Map<string, number>();
  /** How many epochs had ended when they were last told. */
  #ended = 0;
  #counts = "";
  #progress = "";

  constructor(listener: ExecutionListener) {
    this.#listener = listener;
  }

  tell(status: StatusBlob | undefined): void {
    if (status === undefined) return;
    for (const warning of status.warnings) {
      if (this.#isNew(warning)) this.#listener.onEvent({ kind: "warning", warning });
    }
    for (const failure of status.failures ?? []) {
      if (this.#isNew(failure)) this.#listener.onEvent({ kind: "failure", failure });
    }
    this.#tellCounts(status);
    if (status.epochs) this.#tellEpochs(status.epochs);
    this.#tellProgress(status.progress);
  }

  /** At the end, whatever it was. */
  tellTimings(status: StatusBlob | undefined): void {
    if (status !== undefined) this.#listener.onTimings(status.timings);
  }

  #isNew(entry: object): boolean {
    const text = JSON.stringify(entry);
    const isNew = !this.#told.has(text);
    this.#told.add(text);
    return isNew;
  }

  #tellCounts({ warning_counts: warnings, failure_counts: failures }: StatusBlob): void {
    if (warnings === undefined || failures === undefined) return;
    const counts = JSON.stringify([warnings, failures]);
    if (counts === this.#counts || counts === "[{},{}]") return;
    this.#counts = counts;
    this.#listener.onEvent({ kind: "counts", warnings, failures });
  }

  /** The blob holds epochs of the whole attempt, thinned again and again: those are new that follow what was told. */
  #tellEpochs({ points, left_out = 0 }: Epochs): void {
    const fresh = points.filter((point) => point.epoch > (this.#epochs.get(nameOf(point)) ?? 0));
    for (const point of fresh) this.#epochs.set(nameOf(point), point.epoch);
    if (fresh.length === 0) return;
    const ended = points.length + left_out;
    const more = ended - this.#ended - fresh.length;
    this.#ended = ended;
    const epochs = { points: fresh, ...(more > 0 ? { left_out: more } : {}) };
    this.#listener.onEvent({ kind: "epochs", epochs });
  }

  #tellProgress(progress: StatusBlob["progress"]): void {
    const text = JSON.stringify(progress);
    if (progress === null || text === this.#progress) return;
    this.#progress = text;
    const { stage, done, total } = progress;
    this.#listener.onEvent({ kind: "progress", stage, done, ...(total === null ? {} : { total }) });
  }
}

function nameOf({ ticker, member }: EpochPoint): string {
  return JSON.stringify([ticker, member]);
}
