import { createHash } from "node:crypto";
import { withoutSignature } from "../blob/policy.ts";
import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import { readWholeJson } from "../contract/json/json-text.ts";
import {
  type EventBatch,
  type Report,
  type StatusBlob,
  statusBlobSchema,
  statusKey,
  type Timing,
} from "../contract/output/job-events.ts";
import { boundedProblem, type Problem } from "../contract/problems/problem.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import { openSchema } from "../contract/schema/open-schema.ts";
import type { OnTiming } from "../jobs/shared/timings.ts";
import { batchOf, EventGatherer, networkOf, Pace } from "./event-gatherer.ts";

const PAUSE_MILLISECONDS = 3_000;
const MAX_WRITE_MILLISECONDS = 20_000;
/** Limits of the timings of a job, in entries and bytes: far more than it has steps. */
const TIMINGS = { most: 1_000, bytes: 128 * 2 ** 10 };

/** Of each step and of the first tickers. */
export function boundTimings(timings: readonly Timing[]): Timing[] {
  return boundedCopy(timings.slice(0, TIMINGS.most), { bytes: TIMINGS.bytes, text: SIZES.text })!;
}

export interface StatusOptions {
  readonly store: BlobStore;
  readonly id: string;
  readonly attempt: number;
  readonly config: string;
  /** Called with a line for each failed write; none fails the job. */
  readonly log: (line: string) => void;
}

/**
 * Writes the status blob of an attempt at a job: the whole blob, at most every few seconds while the job runs, and once more at its end.
 * The blob's size is bounded whatever the job reports, so that its end can always be read. The job reports to `report` and `onTiming`.
 */
export class StatusWriter {
  readonly #options: StatusOptions;
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

/** Larger than this version writes, because a job of another version may have written the blob. */
const MAX_BYTES = 8 * SIZES.statusBlob;
/** Open, because a job of a later version may have written the blob. */
const READ = openSchema(statusBlobSchema);

/**
 * The status blob of an attempt; undefined if there is none.
 * @throws MucastError blob_unavailable; invalid_data if the blob is not a status of that attempt.
 */
export async function readStatus(
  store: BlobStore,
  id: string,
  attempt: number,
): Promise<StatusBlob | undefined> {
  const key = statusKey(id, attempt);
  try {
    const read = await readWholeJson(store.read(key), MAX_BYTES);
    const { success, data } = READ.safeParse("value" in read ? read.value : undefined);
    if (success && data.id === id && data.attempt === attempt) return data;
  } catch (error) {
    if (error instanceof MucastError && error.code === "blob_not_found") return undefined;
    throw error;
  }
  const message = `${key} is not the status of attempt ${attempt} at ${id}`;
  throw new MucastError("invalid_data", message, { source: key });
}

/** Finds what is new in an attempt's status blob since it was last read. */
export class StatusEvents {
  /** The number of warnings and failures that are known: the blob lists the first ones of the attempt. */
  #known = { warnings: 0, failures: 0 };
  readonly #last = new Map<string, string>();
  readonly #epochs = new Map<string, number>();
  #ended = 0;

  next(status: StatusBlob): EventBatch | undefined {
    const { warnings, failures = [], warning_counts = {}, failure_counts = {} } = status;
    const { epochs, progress, summary } = status;
    const hasCounts = Object.keys({ ...warning_counts, ...failure_counts }).length > 0;
    const counts = hasCounts ? { warnings: warning_counts, failures: failure_counts } : undefined;
    const known = this.#known;
    this.#known = { warnings: warnings.length, failures: failures.length };
    return batchOf({
      warnings: warnings.slice(known.warnings),
      failures: failures.slice(known.failures),
      counts: this.#ifChanged("counts", counts),
      epochs: epochs && this.#newEpochs(epochs),
      progress: this.#ifChanged("progress", progress ?? undefined),
      summary: this.#ifChanged("summary", summary),
    });
  }

  #ifChanged<T extends object>(part: string, value: T | undefined): T | undefined {
    const text = JSON.stringify(value);
    if (value === undefined || this.#last.get(part) === text) return undefined;
    this.#last.set(part, text);
    return value;
  }

  /** The blob holds epochs of the whole attempt, thinned repeatedly. New epochs are those after the last known one of their network. */
  #newEpochs({ points, left_out = 0 }: NonNullable<EventBatch["epochs"]>): EventBatch["epochs"] {
    const fresh = points.filter((point) => point.epoch > (this.#epochs.get(networkOf(point)) ?? 0));
    for (const point of fresh) this.#epochs.set(networkOf(point), point.epoch);
    if (fresh.length === 0) return undefined;
    const ended = points.length + left_out;
    const more = ended - this.#ended - fresh.length;
    this.#ended = ended;
    return { points: fresh, ...(more > 0 ? { left_out: more } : {}) };
  }
}
