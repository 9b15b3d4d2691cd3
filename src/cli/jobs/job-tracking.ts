import { setTimeout as pause } from "node:timers/promises";
import { printable } from "../../contract/errors/wording.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { Reading } from "../../outputs/open-document.ts";
import { openTrackedOutput } from "../../tracking/tracked-output.ts";
import { checkTracker, type Tracker, trackerOf, trackingFailed, trackRun } from "../../tracking/tracker.ts";
import type { Reporter } from "../terminal/reporter.ts";

/** Milliseconds that a finished job waits for a tracker that has not answered since the job began, and that the upload may take. */
interface Waits {
  readonly answer: number;
  readonly upload: number;
}

const WAITS: Waits = { answer: 5_000, upload: 60_000 };

interface ReportedReading extends Reading {
  readonly signal: AbortSignal;
}

/**
 * Records the output of a job at the tracker of its environment. The job succeeds whatever the tracker does: one line on stderr says where
 * the run is, or why there is none. The tracker is contacted while the job runs, so that a tracker that is away costs no time.
 */
export class JobTracking {
  readonly #tracker: Tracker;
  readonly #reporter: Reporter;
  readonly #waits: Waits;
  readonly #closing = new AbortController();
  /** Why the tracker cannot be used; undefined if it can. Never rejects. */
  readonly #fault: Promise<unknown>;

  private constructor(tracker: Tracker, reporter: Reporter, waits: Waits) {
    this.#tracker = tracker;
    this.#reporter = reporter;
    this.#waits = waits;
    this.#fault = checkTracker(tracker, this.#closing.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** @returns undefined without a tracker, and with one that cannot be used, which is then reported. */
  static begin(env: NodeJS.ProcessEnv, reporter: Reporter, waits = WAITS): JobTracking | undefined {
    try {
      const tracker = trackerOf(env);
      return tracker && new JobTracking(tracker, reporter, waits);
    } catch (error) {
      warn(reporter, error);
      return undefined;
    }
  }

  /** @param outputUrl of the output that the job has written. @throws what the signal throws. */
  async record(outputUrl: string, { signal, ...reading }: ReportedReading): Promise<void> {
    try {
      const fault = await Promise.race([this.#fault, this.#silence(signal)]);
      if (fault !== undefined) throw fault;
      const output = await openTrackedOutput(outputUrl, { ...reading, signal });
      const run = await trackRun(output, this.#tracker, signal, { totalMs: this.#waits.upload });
      const lacks = run.artifacts ? "" : ", without artifacts, which the server does not accept";
      this.#reporter.write({ level: "info", mlflow: run }, printable(`mlflow: ${run.url}${lacks}`));
    } catch (error) {
      signal.throwIfAborted();
      warn(this.#reporter, error);
    }
  }

  /** Ends the request that is still unanswered. */
  close(): void {
    this.#closing.abort();
  }

  async #silence(signal: AbortSignal): Promise<unknown> {
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    await pause(this.#waits.answer, undefined, { signal: ended });
    return trackingFailed(this.#tracker, "it has not answered since the job began");
  }
}

function warn(reporter: Reporter, error: unknown): void {
  const { code, detail } = problemOf(error);
  const message = `the job is not recorded in MLflow: ${detail}`;
  reporter.write({ level: "warning", code, message }, printable(`warning: ${code}: ${message}`));
}
