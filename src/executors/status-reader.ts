import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { readWholeJson } from "../contract/json/json-text.ts";
import {
  type EpochPoint,
  type EventBatch,
  type StatusBlob,
  statusBlobSchema,
  statusKey,
} from "../contract/output/job-events.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import { openSchema } from "../contract/schema/open-schema.ts";
import { batchOf } from "./event-gatherer.ts";

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
  /** Known warnings and failures, as JSON. */
  readonly #known = new Set<string>();
  /** The last known counts, progress and summary, as JSON. */
  readonly #last = new Map<string, string>();
  /** The newest known epoch of each network. */
  readonly #epochs = new Map<string, number>();
  /** The number of finished epochs at the last read. */
  #ended = 0;

  /** @returns undefined if nothing is new. */
  next(status: StatusBlob): EventBatch | undefined {
    const { warnings, failures = [], warning_counts, failure_counts, epochs, progress, summary } = status;
    const counts = { warnings: warning_counts ?? {}, failures: failure_counts ?? {} };
    const hasCounts = Object.values(counts).some((byCode) => Object.keys(byCode).length > 0);
    return batchOf({
      warnings: warnings.filter((entry) => this.#isNew(entry)),
      failures: failures.filter((entry) => this.#isNew(entry)),
      counts: hasCounts ? this.#ifChanged("counts", counts) : undefined,
      epochs: epochs && this.#newEpochs(epochs),
      progress: this.#ifChanged("progress", progress ?? undefined),
      summary: this.#ifChanged("summary", summary),
    });
  }

  #isNew(entry: object): boolean {
    const text = JSON.stringify(entry);
    const isNew = !this.#known.has(text);
    this.#known.add(text);
    return isNew;
  }

  #ifChanged<T extends object>(part: string, value: T | undefined): T | undefined {
    const text = JSON.stringify(value);
    if (value === undefined || this.#last.get(part) === text) return undefined;
    this.#last.set(part, text);
    return value;
  }

  /** The blob holds epochs of the whole attempt, thinned repeatedly. New epochs are those after the last known one of their network. */
  #newEpochs({ points, left_out = 0 }: NonNullable<EventBatch["epochs"]>): EventBatch["epochs"] {
    const nameOf = ({ ticker, member }: EpochPoint) => JSON.stringify([ticker, member]);
    const fresh = points.filter((point) => point.epoch > (this.#epochs.get(nameOf(point)) ?? 0));
    for (const point of fresh) this.#epochs.set(nameOf(point), point.epoch);
    if (fresh.length === 0) return undefined;
    const ended = points.length + left_out;
    const more = ended - this.#ended - fresh.length;
    this.#ended = ended;
    return { points: fresh, ...(more > 0 ? { left_out: more } : {}) };
  }
}
