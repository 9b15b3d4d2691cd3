import { jsonBytes } from "../contract/json/bounded-json.ts";
import type { EpochPoint, Epochs, EventBatch, JobEvent, Progress } from "../contract/output/job-events.ts";
import type { Failure } from "../contract/problems/problem.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { CappedList, SIZES } from "../contract/schema/answer-limits.ts";

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
  #summary: EventBatch["summary"];
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
      case "summary":
        this.#summary = event.summary;
        break;
      default:
        event satisfies never;
    }
  }

  /** Adds a batch from another gatherer. */
  add({ warnings = [], failures = [], epochs, counts, progress, summary }: EventBatch): void {
    for (const warning of warnings) this.#warnings.add(warning);
    for (const failure of failures) this.#failures.add(failure);
    if (epochs !== undefined) this.#epochs.addAll(epochs);
    this.#counts = counts ?? this.#counts;
    this.#progress = progress ?? this.#progress;
    this.#summary = summary ?? this.#summary;
  }

  /** What was gathered since the last `take`; undefined if nothing was. */
  get batch(): EventBatch | undefined {
    return batchOf({
      warnings: this.#warnings.entries.slice(this.#taken.warnings),
      failures: this.#failures.entries.slice(this.#taken.failures),
      counts: this.#counts,
      epochs: this.#epochs.bounded(),
      progress: this.#progress,
      summary: this.#summary,
    });
  }

  /** Returns the batch and starts the next one. */
  take(): EventBatch | undefined {
    const { batch } = this;
    this.#taken = { warnings: this.#warnings.entries.length, failures: this.#failures.entries.length };
    this.#epochs.clear();
    this.#counts = undefined;
    this.#progress = undefined;
    this.#summary = undefined;
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

/** The number of epochs to keep in addition to the best and the last of each network. */
const EVEN_POINTS = 200;
/** The number of networks whose best and last epochs are kept: those with the newest epochs. */
const NETWORKS = 500;
/** Limit of the JSON text of all points, in bytes; leaves room for the other contents of an event. */
const MAX_BYTES = SIZES.epochs - 1_024;

/** A point, and how many were added before it. */
interface Counted {
  readonly point: EpochPoint;
  readonly nth: number;
}

/** The epoch of lowest loss, and the newest. */
interface Network {
  readonly best: Counted;
  readonly last: Counted;
}

/** @returns the epoch that a job reports with its progress; undefined if it reports none. */
export function pointOf({
  ticker,
  member,
  epoch,
  train_loss,
  validation_loss,
}: Progress): EpochPoint | undefined {
  if (ticker === undefined || epoch === undefined) return undefined;
  const ofMember = member === undefined ? {} : { member };
  return {
    ticker,
    ...ofMember,
    epoch,
    train_loss: finite(train_loss),
    validation_loss: finite(validation_loss),
  };
}

function finite(loss: number | null | undefined): number | null {
  return typeof loss === "number" && Number.isFinite(loss) ? loss : null;
}

/** Gathers epochs of any number of networks in bounded memory: keeps the best and the last of each network and thins the others evenly. */
export class EpochPoints {
  #seen = 0;
  /** The number of epochs that were dropped before `addAll`. */
  #leftOut = 0;
  /** Every `step`-th point is kept. */
  #stride = 1;
  #even: Counted[] = [];
  /** The network with the newest epoch comes last. */
  readonly #networks = new Map<string, Network>();

  get isEmpty(): boolean {
    return this.#seen === 0;
  }

  add(point: EpochPoint): void {
    const counted = { point, nth: this.#seen++ };
    if (counted.nth % this.#stride === 0) this.#even.push(counted);
    if (this.#even.length > 2 * EVEN_POINTS) {
      this.#stride *= 2;
      this.#even = this.#even.filter(({ nth }) => nth % this.#stride === 0);
    }
    const name = JSON.stringify([point.ticker, point.member]);
    const network = this.#networks.get(name);
    const isBest = network === undefined || lossOf(point) < lossOf(network.best.point);
    this.#networks.delete(name);
    this.#networks.set(name, { best: isBest ? counted : network.best, last: counted });
    if (this.#networks.size > NETWORKS) this.#networks.delete(this.#networks.keys().next().value!);
  }

  /** Adds epochs that another EpochPoints has thinned already. */
  addAll({ points, left_out = 0 }: Epochs): void {
    for (const point of points) this.add(point);
    this.#leftOut += left_out;
  }

  /** The epochs added since the last `clear`, thinned to a bounded size; undefined if there are none. */
  bounded(): Epochs | undefined {
    if (this.#seen === 0) return undefined;
    const chosen = new Set<Counted>();
    let room = MAX_BYTES;
    const take = (counted: Counted): boolean => {
      if (chosen.has(counted)) return true;
      const bytes = jsonBytes(counted.point) + 1;
      if (bytes > room) return false;
      room -= bytes;
      chosen.add(counted);
      return true;
    };
    for (const { best, last } of [...this.#networks.values()].reverse()) {
      if (!take(last) || !take(best)) break;
    }
    const others = this.#even.filter((counted) => !chosen.has(counted));
    for (const counted of evenly(others, Math.min(EVEN_POINTS, fitting(others, room)))) take(counted);
    const points = [...chosen].sort((a, b) => a.nth - b.nth).map(({ point }) => point);
    if (points.length === 0) return undefined;
    const leftOut = this.#leftOut + this.#seen - points.length;
    return { points, ...(leftOut === 0 ? {} : { left_out: leftOut }) };
  }

  clear(): void {
    this.#seen = 0;
    this.#leftOut = 0;
    this.#stride = 1;
    this.#even = [];
    this.#networks.clear();
  }
}

/** The loss by which the best epoch is chosen. */
function lossOf({ train_loss, validation_loss }: EpochPoint): number {
  return validation_loss ?? train_loss ?? Number.POSITIVE_INFINITY;
}

/** How many points fit into this many bytes if all were as large as the largest. */
function fitting(all: readonly Counted[], bytes: number): number {
  const largest = all.reduce((most, { point }) => Math.max(most, jsonBytes(point) + 1), 1);
  return Math.floor(bytes / largest);
}

/** This many entries of a list, at equal distances. */
function evenly<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]!);
}
