import { createHash } from "node:crypto";
import { withoutSignature } from "../blob/policy.ts";
import type { BlobStore } from "../blob/store.ts";
import { CappedList, SIZES } from "../contract/api/answer-limits.ts";
import type { Report } from "../contract/api/job-events.ts";
import { boundedProblem, type Problem } from "../contract/errors/problem.ts";
import type { Warning } from "../contract/errors/warnings.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import type { Failure } from "../contract/output/output-blob.ts";
import { type StatusBlob, statusKey } from "../contract/output/status-blob.ts";
import type { OnTiming } from "../jobs/shared/timings.ts";
import { EpochPoints, pointOf } from "./epoch-points.ts";

export interface StatusOptions {
  readonly store: BlobStore;
  readonly id: string;
  readonly attempt: number;
  /** JSON text of the config. */
  readonly config: string;
  /** Hears of writes that failed; they never fail the job. */
  readonly log: (line: string) => void;
  /** At least so long between two writes; 3 s by default. */
  readonly pauseMilliseconds?: number;
}

const PAUSE_MILLISECONDS = 3_000;
const LONGEST_WRITE_MILLISECONDS = 20_000;
/** Of what a job spends its time on: far more than it has steps. */
const TIMINGS = { most: 1_000, bytes: 128 * 2 ** 10 };

/**
 * Tells of an attempt at a job in its status blob: rewritten whole while it runs, at most every few seconds, and once
 * more at its end. Its size is bounded whatever the job tells, so that its end can always be read. Give `report` and `onTiming` what the job tells.
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
  /** Whether there is anything that no write has told. */
  #news = false;
  #over = false;

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  readonly report: Report = (event) => {
    if (event.kind === "progress") {
      const { stage, done, total = null } = event;
      this.#blob.progress = { stage, done, total };
      const point = pointOf(event);
      if (point) this.#epochs.add(point);
    } else if (event.kind === "warning") this.#warnings.add(event.warning);
    else this.#failures.add(event.failure);
    this.#news = true;
    this.#plan();
  };

  readonly onTiming: OnTiming = (timing) => {
    if (this.#timings.length < TIMINGS.most) this.#timings.push(timing);
  };

  /** Of each step and of the first tickers. */
  get timings(): StatusBlob["timings"] {
    return boundedCopy(this.#timings, { bytes: TIMINGS.bytes, text: SIZES.text })!;
  }

  /** Writes how it ended, after whatever is still being written; returns once that is there, or has failed. */
  async end(end: NonNullable<StatusBlob["end"]>): Promise<void> {
    this.leave();
    this.#blob.end = "problem" in end ? { problem: boundedProblem(end.problem as Problem) } : end;
    await this.#writing;
    await this.#write();
  }

  /** Writes no more: the attempt ends without a word. */
  leave(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** The next write, where none is planned or under way. */
  #plan(): void {
    if (this.#over || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#write().then(() => {
        this.#timer = undefined;
        if (this.#news) this.#plan();
      });
    }, this.#options.pauseMilliseconds ?? PAUSE_MILLISECONDS).unref();
  }

  async #write(): Promise<void> {
    const { store, id, attempt, config, log } = this.#options;
    const key = statusKey(id, attempt);
    this.#news = false;
    const epochs = this.#epochs.told();
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
        signal: AbortSignal.timeout(LONGEST_WRITE_MILLISECONDS),
      });
    } catch (error) {
      log(`${key} could not be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
