import { createHash } from "node:crypto";
import { withoutSignature } from "../blob/policy.ts";
import type { BlobStore } from "../blob/store.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import type { Report } from "../contract/output/job-events.ts";
import { type StatusBlob, statusKey } from "../contract/output/status-blob.ts";
import type { Failure } from "../contract/problems/failures.ts";
import { boundedProblem, type Problem } from "../contract/problems/problem.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { CappedList, SIZES } from "../contract/schema/answer-limits.ts";
import type { OnTiming } from "../jobs/shared/timings.ts";
import { EpochPoints, pointOf } from "./epoch-points.ts";

export interface StatusOptions {
  readonly store: BlobStore;
  readonly id: string;
  readonly attempt: number;
  /** JSON text of the config. */
  readonly config: string;
  /** Called with a line for each write that failed; none fails the job. */
  readonly log: (line: string) => void;
  /** At least so long between two writes; 3 s by default. */
  readonly pauseMilliseconds?: number;
}

const PAUSE_MILLISECONDS = 3_000;
const MAX_WRITE_MILLISECONDS = 20_000;
/** Most timings of a job, far more than it has steps, and their bytes. */
const TIMINGS = { most: 1_000, bytes: 128 * 2 ** 10 };

/**
 * Writes the status blob of an attempt at a job: the whole blob, every few seconds at most while the job runs, and once
 * more at its end. The blob's size is bounded whatever the job reports, so that its end can always be read. The job
 * reports to `report` and `onTiming`.
 */
export class StatusWriter {
  readonly #options: StatusOptions;
  readonly #blob: { -readonly [key in "progress" | "end"]: StatusBlob[key] } = { progress: null, end: null };
  readonly #warnings = new CappedList<Warning>();
  readonly #failures = new CappedList<Failure>();
  readonly #epochs = new EpochPoints();
  readonly #timings: StatusBlob["timings"] = [];
  /** Settles once no write is under way; never rejects. */
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** Whether the job has reported something since the last write. */
  #hasChanged = false;
  #isStopped = false;

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  readonly report: Report = (event) => {
    switch (event.kind) {
      case "progress": {
        const { stage, done, total = null } = event;
        this.#blob.progress = { stage, done, total };
        const point = pointOf(event);
        if (point) this.#epochs.add(point);
        break;
      }
      case "warning":
        this.#warnings.add(event.warning);
        break;
      case "failure":
        this.#failures.add(event.failure);
        break;
      default:
        event satisfies never;
    }
    this.#hasChanged = true;
    this.#plan();
  };

  readonly onTiming: OnTiming = (timing) => {
    if (this.#timings.length < TIMINGS.most) this.#timings.push(timing);
  };

  /** Of each step and of the first tickers. */
  get timings(): StatusBlob["timings"] {
    return boundedCopy(this.#timings, { bytes: TIMINGS.bytes, text: SIZES.text })!;
  }

  /** Writes how the job ended, after a write that is under way; returns once the blob is there, or its write has failed. */
  async writeEnd(end: NonNullable<StatusBlob["end"]>): Promise<void> {
    this.stop();
    this.#blob.end = "problem" in end ? { problem: boundedProblem(end.problem as Problem) } : end;
    await this.#writing;
    await this.#write();
  }

  /** Plans no further write: the status of the attempt stays without an end. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** The next write, where none is planned or under way. */
  #plan(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#write().then(() => {
        this.#timer = undefined;
        if (this.#hasChanged) this.#plan();
      });
    }, this.#options.pauseMilliseconds ?? PAUSE_MILLISECONDS).unref();
  }

  async #write(): Promise<void> {
    const { store, id, attempt, config, log } = this.#options;
    const key = statusKey(id, attempt);
    this.#hasChanged = false;
    const epochs = this.#epochs.bounded();
    const blob: StatusBlob = {
      schema: "mucast.status/1",
      id,
      attempt,
      config_sha256: createHash("sha256").update(config).digest("hex"),
      updated_at: new Date().toISOString(),
      ...this.#blob,
      warnings: this.#warnings.entries,
      warning_counts: this.#warnings.counts,
      failures: this.#failures.entries,
      failure_counts: this.#failures.counts,
      timings: this.timings,
      ...(epochs === undefined ? {} : { epochs }),
    };
    try {
      await store.put(key, withoutSignature(JSON.stringify(blob)), {
        signal: AbortSignal.timeout(MAX_WRITE_MILLISECONDS),
      });
    } catch (error) {
      log(`${key} could not be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
