import { outputName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import type { Log } from "../telemetry/log.ts";

/** A job that has succeeded. */
export type EndedJob = Pick<OperationRow, "id" | "space" | "operation">;

/** The times of attempts. */
export interface TrackingPace {
  /** Milliseconds until the next attempt, by the number of failures in a row. */
  readonly retryDelay: (failures: number) => number;
  /** Milliseconds that the attempt in progress may continue when the service closes. */
  readonly closeMilliseconds: number;
}

interface TrackingQueueParts {
  /** Records the output of a job. @throws MucastError. */
  readonly record: (job: EndedJob & { readonly name: string }, signal: AbortSignal) => Promise<void>;
  /** URL of the tracker, for the log. */
  readonly url: string;
  readonly log: Log;
  readonly pace?: TrackingPace;
}

/** Beyond it, the output of a further job is not recorded. */
export const MAX_WAITING = 1_000;

/** Attempts at one output. */
export const MAX_ATTEMPTS = 8;

const PACE: TrackingPace = {
  retryDelay: (failures) => Math.min(600_000, 5_000 * 3 ** (failures - 1)),
  closeMilliseconds: 1_000,
};

interface Waiting {
  readonly job: EndedJob;
  attempts: number;
}

/**
 * Records the outputs of ended jobs one after the other, in the background. While the tracker is away, they wait in memory. The log has one
 * warning when recording begins to fail, and one line when it succeeds again, however many jobs and attempts there were in between.
 */
export class TrackingQueue {
  readonly #parts: TrackingQueueParts;
  readonly #pace: TrackingPace;
  readonly #waiting: Waiting[] = [];
  readonly #aborting = new AbortController();
  #running: Promise<void> | undefined;
  #isClosing = false;
  /** Failures in a row. */
  #failures = 0;
  /** Outputs that were given up since recording began to fail. */
  #lost = 0;
  #cutPauseShort: () => void = () => undefined;

  constructor(parts: TrackingQueueParts) {
    this.#parts = parts;
    this.#pace = parts.pace ?? PACE;
  }

  /** Returns at once, and never throws. */
  add(job: EndedJob): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ job, attempts: 0 });
    else this.#lost += 1;
    this.#start();
  }

  /** Gives the attempt in progress a second. Outputs that still wait are not recorded. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#cutPauseShort();
    const late = setTimeout(() => this.#aborting.abort(), this.#pace.closeMilliseconds);
    await this.#running;
    clearTimeout(late);
    const lost = this.#lost + this.#waiting.length;
    if (lost === 0) return;
    const fields = { lost, tracker: this.#parts.url };
    this.#parts.log.warn(fields, "the service ends before it has recorded all jobs in MLflow");
  }

  #start(): void {
    if (this.#running !== undefined || this.#isClosing || this.#waiting.length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      // A job may have been added after the last look.
      this.#start();
    });
  }

  async #run(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined && !this.#isClosing; next = this.#waiting[0]) {
      next.attempts += 1;
      const error = await this.#attempt(next.job);
      if (error === undefined) this.#succeed();
      else if (isPassing(error) && next.attempts < MAX_ATTEMPTS) {
        this.#fail(error, next);
        await this.#pause();
        continue;
      } else {
        // An attempt that the service cut short when it closed leaves its output among the waiting ones.
        if (this.#aborting.signal.aborted) return;
        this.#fail(error, next);
        this.#lost += 1;
      }
      this.#waiting.shift();
    }
  }

  async #attempt(job: EndedJob): Promise<unknown> {
    try {
      await this.#parts.record({ ...job, name: outputName(job.operation, job.id) }, this.#aborting.signal);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #succeed(): void {
    if (this.#failures === 0) return;
    this.#parts.log.info({ lost: this.#lost, tracker: this.#parts.url }, "jobs are recorded in MLflow again");
    this.#failures = 0;
    this.#lost = 0;
  }

  #fail(error: unknown, { job, attempts }: Waiting): void {
    this.#failures += 1;
    const fields = { operation_id: job.id, attempts, tracker: this.#parts.url, err: error };
    if (this.#failures > 1) this.#parts.log.debug(fields, "a job was not recorded in MLflow");
    else
      this.#parts.log.warn(fields, "jobs cannot be recorded in MLflow; a line will say when they are again");
  }

  #pause(): Promise<void> {
    if (this.#isClosing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#pace.retryDelay(this.#failures));
      this.#cutPauseShort = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Whether another attempt may succeed. A defect, and an output that has no report, stay so. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  switch (error.code) {
    case "tracking_failed":
      return error.data.passing === true;
    case "timed_out":
    case "process_lost":
    case "unavailable":
    case "blob_unavailable":
      return true;
    default:
      return false;
  }
}
