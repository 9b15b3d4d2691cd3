import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import type { Report } from "../../contract/api/job-events.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/errors/problem.ts";
import { shownProblem } from "../../contract/errors/shown-problem.ts";
import { runDlJob } from "../../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../jobs/ml/run-ml-job.ts";
import { type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import type { JobOrder, StopReason } from "../executor.ts";
import { StatusWriter } from "../status-writer.ts";
import { ToldEvents } from "../told-events.ts";
import type { FromJob, JobEnd, ToJob } from "./messages.ts";
import { placesOf } from "./order-places.ts";
import { throttled } from "./throttled.ts";
import { WARM_LIBRARIES, WarmEngine } from "./warm-engine.ts";

const JOBS = { run_ml_job: runMlJob, run_dl_job: runDlJob };

/** Another process takes its place then, so that nothing adds up. */
const JOBS_AT_MOST = 200;
const BYTES_AT_MOST = 2 ** 30;

/** What a job process does between its start and its end: one order after the other. */
export class JobRuns {
  /** Settles once it has told how it ended, or has nothing more to do; never rejects. */
  readonly ended: Promise<void>;
  readonly #tell: (message: FromJob) => void;
  readonly #stop = new AbortController();
  #engine: WarmEngine | undefined;
  #order = Promise.withResolvers<JobOrder | undefined>();
  #places: Extract<ToJob, { op: "places" }> | undefined;
  #store: Promise<BlobStore> | undefined;
  /** Nobody wants to hear how it ends: the attempt is lost. */
  #silent = false;

  constructor(tell: (message: FromJob) => void, warm: boolean) {
    this.#tell = tell;
    this.#engine = warm ? startEngine(WARM_LIBRARIES) : undefined;
    this.ended = this.#work();
  }

  hear(message: ToJob): void {
    if (message.op === "places") this.#prepare(message);
    else if (message.op === "order") this.#order.resolve(message.order);
    else this.#stopFor(message.reason);
  }

  serviceIsGone(): void {
    this.#stopFor("draining");
  }

  #prepare(places: Extract<ToJob, { op: "places" }>): void {
    this.#places = places;
    this.#store = openStore(places.blobUrl, { policy: places.policy });
    this.#store.catch(() => undefined); // The job hears of it where it opens its output.
    void Promise.allSettled([this.#engine?.ready, this.#store]).then(() => this.#tell({ event: "ready" }));
  }

  #stopFor(reason: StopReason): void {
    if (reason === "draining") this.#silent = true;
    this.#stop.abort(stopError(reason));
    this.#order.resolve(undefined);
  }

  async #work(): Promise<void> {
    for (let jobs = 1; ; jobs++) {
      const order = await this.#order.promise;
      if (order === undefined) break;
      this.#order = Promise.withResolvers();
      this.#tell({ event: "accepted" });
      const isSound = await this.#run(order);
      if (!isSound || jobs >= JOBS_AT_MOST || !this.#isFit()) break;
      this.#tell({ event: "ready" });
    }
    await this.#engine?.close();
  }

  /** Whether another job would find everything as a new process has it. */
  #isFit(): boolean {
    return (
      this.#engine?.waits === true && !this.#stop.signal.aborted && process.memoryUsage.rss() < BYTES_AT_MOST
    );
  }

  /** The engine waits already, or is started with its first job and waits for others then. */
  readonly #openEngine: OpenEngine = (need) => {
    if (WarmEngine.suits(need)) this.#engine ??= new WarmEngine(need.libraries);
    return (this.#engine?.open ?? openEngine)(need);
  };

  /** @returns false where a defect was met. */
  async #run(order: JobOrder): Promise<boolean> {
    const status = await this.#status(order);
    const told = new ToldEvents(throttled((job) => this.#tell({ event: "job", job })));
    const end = await this.#result(
      order,
      (event) => {
        status?.report(event);
        told.report(event);
      },
      status,
    );
    told.end();
    const isLost = this.#silent && "problem" in end;
    if (isLost) {
      await status?.leave();
      return false;
    }
    await status?.end(end);
    if (status) this.#tell({ event: "timings", timings: status.timings });
    this.#tell({ event: "end", end });
    return !("problem" in end && end.problem.code === "internal");
  }

  async #result(order: JobOrder, report: Report, status: StatusWriter | undefined): Promise<JobEnd> {
    const { signal } = this.#stop;
    const { policy, blobUrl } = placesOf(this.#places!, order);
    const { memoryBytes } = this.#places!;
    const { id, featureUrl, dataExtractorUrl, config, workers, operation } = order;
    const request = { id, featureUrl, dataExtractorUrl, config, blobUrl };
    const context = {
      workers,
      memoryBytes,
      policy,
      report,
      signal,
      onTiming: status?.onTiming,
      openEngine: this.#openEngine,
    };
    try {
      return { record: await JOBS[operation](request, context) };
    } catch (error) {
      if (signal.aborted) return { problem: problemOf(signal.reason) };
      return { problem: shownProblem(error, ({ id, what, text }) => this.#log(`${what} ${id}: ${text}`)) };
    }
  }

  /** The job process sends it by the pipe of an order's events, so that the service knows its operation and reads it before the end. */
  readonly #log = (text: string): void => {
    for (const line of text.split("\n")) this.#tell({ event: "log", line });
  };

  /** Undefined where the place of the blobs is none; the job fails by that too. */
  async #status({ id, attempt, config, space = "" }: JobOrder): Promise<StatusWriter | undefined> {
    try {
      const store = (await this.#store!).within(space);
      return new StatusWriter({ store, id, attempt, config, log: this.#log });
    } catch {
      return undefined;
    }
  }
}

/** Undefined where there is no environment yet: it says so to the job that needs it. */
function startEngine(libraries: readonly string[]): WarmEngine | undefined {
  try {
    return new WarmEngine(libraries);
  } catch (error) {
    if (error instanceof MucastError) return undefined;
    throw error;
  }
}

function stopError(reason: StopReason): MucastError {
  if (reason === "timed_out") return new MucastError("timed_out", "the job ran longer than it may");
  const why = reason === "canceled" ? "on request" : "because its service ends";
  return new MucastError("canceled", `the job was cancelled ${why}`);
}
