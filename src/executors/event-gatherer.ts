import { jsonBytes } from "../contract/json/bounded-json.ts";
import type { EpochPoint, Epochs, EventBatch, JobEvent, Progress } from "../contract/output/job-events.ts";
import type { Failure } from "../contract/problems/problem.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { CappedList, SIZES } from "../contract/schema/answer-limits.ts";

/** A batch of the parts that are not empty; undefined if all are. */
export function batchOf(parts: { [P in keyof Required<EventBatch>]: EventBatch[P] | undefined }) {
  const isFull = (part: unknown) => part !== undefined && !(Array.isArray(part) && part.length === 0);
  const full = Object.entries(parts).filter(([, part]) => isFull(part));
  return full.length === 0 ? undefined : (Object.fromEntries(full) as EventBatch);
}

/**
 * Gathers the events of a job in bounded memory: the first warnings and failures of the attempt, counts of all of them, thinned epochs, and
 * the newest progress.
 */
export class EventGatherer {
  readonly #warnings = new CappedList<Warning>();
  readonly #failures = new CappedList<Failure>();
  #epochs = new EpochPoints();
  #newest: { -readonly [P in "counts" | "progress" | "summary"]?: EventBatch[P] } = {};
  /** How many of the listed warnings and failures `take` has returned. */
  #taken = { warnings: 0, failures: 0 };

  report(event: JobEvent): void {
    if (event.kind === "progress") this.#reportProgress(event);
    else if (event.kind === "summary") this.#newest.summary = event.summary;
    else {
      if (event.kind === "warning") this.#warnings.add(event.warning);
      else this.#failures.add(event.failure);
      const counts = { warnings: { ...this.#warnings.counts }, failures: { ...this.#failures.counts } };
      this.#newest.counts = counts;
    }
  }

  #reportProgress({ stage, done, total, ticker, member, epoch, ...losses }: Progress): void {
    this.#newest.progress = { stage, done, total: total ?? null };
    if (ticker === undefined || epoch === undefined) return;
    const [train_loss, validation_loss] = [finite(losses.train_loss), finite(losses.validation_loss)];
    const network = { ticker, ...(member === undefined ? {} : { member }) };
    this.#epochs.add({ ...network, epoch, train_loss, validation_loss });
  }

  /** Adds a batch from another gatherer. */
  add({ warnings = [], failures = [], epochs, ...newest }: EventBatch): void {
    for (const warning of warnings) this.#warnings.add(warning);
    for (const failure of failures) this.#failures.add(failure);
    if (epochs !== undefined) this.#epochs.addAll(epochs);
    this.#newest = { ...this.#newest, ...newest };
  }

  get batch(): EventBatch | undefined {
    const { counts, progress, summary } = this.#newest;
    return batchOf({
      warnings: this.#warnings.entries.slice(this.#taken.warnings),
      failures: this.#failures.entries.slice(this.#taken.failures),
      counts,
      epochs: this.#epochs.bounded(),
      progress,
      summary,
    });
  }

  take(): EventBatch | undefined {
    const { batch } = this;
    this.#taken = { warnings: this.#warnings.entries.length, failures: this.#failures.entries.length };
    this.#epochs = new EpochPoints();
    this.#newest = {};
    return batch;
  }
}

/** JSON has no number for a loss that is not finite. */
function finite(loss: number | undefined): number | null {
  return Number.isFinite(loss) ? loss! : null;
}

/** Epochs to keep in addition to the best and the last of each network. */
const EVEN_POINTS = 200;
/** Networks whose best and last epochs are kept: those with the newest epochs. */
const NETWORKS = 500;
/** Limit of the JSON text of all points, in bytes; leaves room for the other contents of an event. */
const MAX_BYTES = SIZES.epochs - 1_024;

/** A point, and how many were added before it. */
interface Counted {
  readonly point: EpochPoint;
  readonly nth: number;
}

/** Gathers epochs of any number of networks in bounded memory: keeps the best and the last of each network and thins the others evenly. */
export class EpochPoints {
  #seen = 0;
  /** The number of epochs that were dropped before `addAll`. */
  #leftOut = 0;
  /** Every `stride`-th point is kept. */
  #stride = 1;
  #even: Counted[] = [];
  /** The epoch of lowest loss and the newest; the network with the newest epoch comes last. */
  readonly #networks = new Map<string, { readonly best: Counted; readonly last: Counted }>();

  add(point: EpochPoint): void {
    const last = { point, nth: this.#seen++ };
    if (last.nth % this.#stride === 0) this.#even.push(last);
    if (this.#even.length > 2 * EVEN_POINTS) {
      this.#stride *= 2;
      this.#even = this.#even.filter(({ nth }) => nth % this.#stride === 0);
    }
    const name = networkOf(point);
    const { best = last } = this.#networks.get(name) ?? {};
    this.#networks.delete(name);
    this.#networks.set(name, { best: lossOf(point) < lossOf(best.point) ? last : best, last });
    if (this.#networks.size > NETWORKS) this.#networks.delete(this.#networks.keys().next().value!);
  }

  addAll({ points, left_out = 0 }: Epochs): void {
    for (const point of points) this.add(point);
    this.#leftOut += left_out;
  }

  /** The epochs, thinned to a bounded size; undefined if there are none. */
  bounded(): Epochs | undefined {
    const ends = [...this.#networks.values()].reverse().flatMap(({ best, last }) => [last, best]);
    const even = this.#even.toSorted((a, b) => strideOf(b) - strideOf(a)).slice(0, EVEN_POINTS);
    const chosen = new Map<number, EpochPoint>();
    let room = MAX_BYTES;
    for (const { point, nth } of [...ends, ...even]) {
      if (chosen.has(nth)) continue;
      room -= jsonBytes(point) + 1;
      if (room >= 0) chosen.set(nth, point);
    }
    if (chosen.size === 0) return undefined;
    const points = [...chosen].sort(([a], [b]) => a - b).map(([, point]) => point);
    const leftOut = this.#leftOut + this.#seen - points.length;
    return { points, ...(leftOut === 0 ? {} : { left_out: leftOut }) };
  }
}

/** Identifies the network of an epoch: each ticker has one, or one for each member of an ensemble. */
export function networkOf({ ticker, member }: EpochPoint): string {
  return JSON.stringify([ticker, member]);
}

/** The largest power of two that divides the place of a point: the first of them, from the largest down, are spread evenly. */
function strideOf({ nth }: Counted): number {
  return nth === 0 ? Number.POSITIVE_INFINITY : nth & -nth;
}

function lossOf({ train_loss, validation_loss }: EpochPoint): number {
  return validation_loss ?? train_loss ?? Number.POSITIVE_INFINITY;
}

/** Repeats a piece of work, which never rejects, while there is a reason to: at most once per pause, and never twice at a time. */
export class Pace {
  readonly #work: () => Promise<void>;
  readonly #milliseconds: number;
  #timer: NodeJS.Timeout | undefined;
  #running = Promise.resolve();
  #isStopped = false;

  constructor(milliseconds: number, work: () => Promise<void>) {
    this.#milliseconds = milliseconds;
    this.#work = work;
  }

  /** Works after a pause, and after the work in progress. */
  plan(): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => {
      this.#running = this.#running.then(() => {
        this.#timer = undefined;
        return this.#isStopped ? undefined : this.#work();
      });
    }, this.#milliseconds).unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
