import { createHash } from "node:crypto";
import { withoutSignature } from "../blob/policy.ts";
import type { BlobStore } from "../blob/store.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import { type Report, type StatusBlob, statusKey, type Timing } from "../contract/output/job-events.ts";
import { boundedProblem, type Problem } from "../contract/problems/problem.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import type { OnTiming } from "../jobs/shared/timings.ts";
import { EventGatherer } from "./event-gatherer.ts";
import { Pace } from "./pace.ts";

export interface StatusOptions {
  readonly store: BlobStore;
  readonly id: string;
  readonly attempt: number;
  /** JSON text of the config. */
  readonly config: string;
  /** Called with a line for each failed write; none fails the job. */
  readonly log: (line: string) => void;
}

/** Minimum time between two writes. */
const PAUSE_MILLISECONDS = 3_000;
const MAX_WRITE_MILLISECONDS = 20_000;
/** Limits of the timings of a job, in entries and bytes: far more than it has steps. */
const TIMINGS = { most: 1_000, bytes: 128 * 2 ** 10 };

/** Of each step and of the first tickers. */
export function boundTimings(timings: readonly Timing[]): Timing[] {
  return boundedCopy(timings.slice(0, TIMINGS.most), { bytes: TIMINGS.bytes, text: SIZES.text })!;
}

/**
 * Writes the status blob of an attempt at a job: the whole blob, at most every few seconds while the job runs, and once more at its end.
 * The blob's size is bounded whatever the job reports, so that its end can always be read. The job reports to `report` and `onTiming`.
 */
export class StatusWriter {
  readonly #options: StatusOptions;
  /** For the whole attempt. */
  readonly #gathered = new EventGatherer();
  readonly #timings: Timing[] = [];
  readonly #pace = new Pace(PAUSE_MILLISECONDS, () => this.#write(null));

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  readonly report: Report = (event) => {
    this.#gathered.report(event);
    this.#pace.plan();
  };

  readonly onTiming: OnTiming = (timing) => void this.#timings.push(timing);

  /** Writes how the job ended, after any write in progress. Returns once the blob is stored or its write has failed. */
  async writeEnd(end: NonNullable<StatusBlob["end"]>): Promise<void> {
    await this.#pace.stop();
    await this.#write("problem" in end ? { problem: boundedProblem(end.problem as Problem) } : end);
  }

  /** Schedules no further write: the status of the attempt stays without an end. */
  stop(): void {
    void this.#pace.stop();
  }

  async #write(end: StatusBlob["end"]): Promise<void> {
    const { store, id, attempt, config, log } = this.#options;
    const { warnings = [], failures = [], counts, progress = null, ...others } = this.#gathered.batch ?? {};
    const blob: StatusBlob = {
      schema: "mucast.status/1",
      id,
      attempt,
      config_sha256: createHash("sha256").update(config).digest("hex"),
      updated_at: new Date().toISOString(),
      progress,
      end,
      warnings,
      warning_counts: counts?.warnings ?? {},
      failures,
      failure_counts: counts?.failures ?? {},
      timings: boundTimings(this.#timings),
      ...others,
    };
    const key = statusKey(id, attempt);
    const signal = AbortSignal.timeout(MAX_WRITE_MILLISECONDS);
    try {
      await store.put(key, withoutSignature(JSON.stringify(blob)), { signal });
    } catch (error) {
      log(`${key} could not be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
