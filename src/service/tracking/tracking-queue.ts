import { outputName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import type { Leases } from "../queue/leases.ts";
import type { OperationRow } from "../store/operations.ts";
import type { Log } from "../telemetry/log.ts";

/** An output to record. */
export type EndedJob = Pick<OperationRow, "id" | "space" | "operation"> & { readonly name: string };

/** The times of attempts. */
export interface TrackingPace {
  /** Milliseconds between two looks for due outputs. */
  readonly claimMilliseconds: number;
  /** Seconds until the next attempt at an output, by the number of attempts. */
  readonly retryDelay: (attempts: number) => number;
  /** Milliseconds that the attempt in progress may continue when the service closes. */
  readonly closeMilliseconds: number;
}

interface TrackingQueueParts {
  readonly database: Database;
  readonly leases: Leases;
  /** Records an output. @throws MucastError. */
  readonly record: (job: EndedJob, signal: AbortSignal) => Promise<void>;
  /** URL of the tracker, for the log. */
  readonly url: string;
  readonly log: Log;
  readonly pace?: TrackingPace;
}

/** Attempts at one output. They take about an hour. */
export const MAX_ATTEMPTS = 10;

const PACE: TrackingPace = {
  claimMilliseconds: 5_000,
  retryDelay: (attempts) => Math.min(900, 5 * 3 ** (attempts - 1)),
  closeMilliseconds: 1_000,
};

type ClaimedJob = EndedJob & { readonly attempt: number };

/**
 * Records the outputs of ended jobs one after the other, in the background. Several services share them. The log has one warning when
 * recording begins to fail, and one line when it succeeds again, however many jobs and attempts there were in between.
 */
export class TrackingQueue {
  readonly #parts: TrackingQueueParts;
  readonly #pace: TrackingPace;
  readonly #aborting = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #working: Promise<void> | undefined;
  #current: string | undefined;
  #isClosing = false;
  #isFailing = false;

  constructor(parts: TrackingQueueParts) {
    this.#parts = parts;
    this.#pace = parts.pace ?? PACE;
    parts.leases.watch("tracking", { isAtWork: (id) => id === this.#current });
    this.#timer = setInterval(() => this.wake(), this.#pace.claimMilliseconds);
    this.wake();
  }

  wake(): void {
    this.#working ??= this.#work()
      .catch((error: unknown) =>
        this.#parts.log.warn({ err: error }, "the queue of jobs to record could not be read or written"),
      )
      .finally(() => {
        this.#working = this.#current = undefined;
      });
  }

  /** Gives the attempt in progress a second. Another service records the rest, or this one after its next start. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    const late = setTimeout(() => this.#aborting.abort(), this.#pace.closeMilliseconds);
    await this.#working;
    clearTimeout(late);
  }

  async #work(): Promise<void> {
    for (let job = await this.#claim(); job !== undefined; job = await this.#claim()) {
      let error: unknown;
      this.#current = job.id;
      try {
        await this.#parts.record(job, this.#aborting.signal);
      } catch (thrown) {
        error = thrown;
      }
      if (this.#aborting.signal.aborted) return this.#free(job, 0, job.attempt - 1);
      this.#report(job, error);
      if (error !== undefined && isPassing(error) && job.attempt < MAX_ATTEMPTS)
        await this.#free(job, this.#pace.retryDelay(job.attempt));
      else await this.#remove(job);
    }
  }

  async #claim(): Promise<ClaimedJob | undefined> {
    const { database, leases } = this.#parts;
    if (this.#isClosing) return undefined;
    return database.write(async (db) => {
      const due = await db
        .selectFrom("tracking as t")
        .innerJoin("operations as o", "o.id", "t.id")
        .select(["t.id", "t.attempt", "o.space", "o.operation"])
        .where("t.owner", "is", null)
        .where("t.next_at", "<=", database.time())
        .orderBy("t.next_at")
        .limit(1)
        .modifyEnd(database.lock("t", "skip"))
        .executeTakeFirst();
      if (due === undefined) return undefined;
      const attempt = due.attempt + 1;
      await db
        .updateTable("tracking")
        .set({ owner: leases.owner, attempt })
        .where("id", "=", due.id)
        .execute();
      return { ...due, attempt, name: outputName(due.operation, due.id) };
    });
  }

  async #free({ id, attempt }: ClaimedJob, seconds: number, attempts = attempt): Promise<void> {
    const { database } = this.#parts;
    await database.write((db) =>
      db
        .updateTable("tracking")
        .set({ owner: null, attempt: attempts, next_at: database.time(seconds) })
        .where(({ and }) => and({ id, attempt }))
        .execute(),
    );
  }

  async #remove({ id, attempt }: ClaimedJob): Promise<void> {
    await this.#parts.database.write((db) =>
      db
        .deleteFrom("tracking")
        .where(({ and }) => and({ id, attempt }))
        .execute(),
    );
  }

  #report({ id, attempt }: ClaimedJob, error: unknown): void {
    const { log, url } = this.#parts;
    const fields = { operation_id: id, attempts: attempt, tracker: url, err: error };
    if (error === undefined) {
      if (this.#isFailing) log.info({ tracker: url }, "jobs are recorded in MLflow again");
    } else if (this.#isFailing) log.debug(fields, "a job was not recorded in MLflow");
    else log.warn(fields, "jobs cannot be recorded in MLflow; a line will say when they are again");
    this.#isFailing = error !== undefined;
  }
}

/** Whether another attempt may succeed. A defect, and an output that has no report, stay so. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  if (error.code === "tracking_failed") return error.data.passing === true;
  return ["timed_out", "process_lost", "unavailable", "blob_unavailable"].includes(error.code);
}
