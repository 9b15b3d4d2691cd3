import { join } from "node:path";
import { withSpace } from "../../blob/names.ts";
import { openStore } from "../../blob/open-store.ts";
import { mappedBase } from "../../blob/policy.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { publicProblem } from "../../contract/problems/public-problem.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import type { JobOrder, StopReason } from "../executor.ts";
import { namedUrls, runOperation } from "../run-operation.ts";
import { StatusWriter } from "../status-writer.ts";
import { EventSender } from "./event-sender.ts";
import type { FromJob, JobEnd, JobSetup, JobStorage, ToJob } from "./messages.ts";
import { WARM_LIBRARIES, WarmEngine } from "./warm-engine.ts";

/** After this many jobs, or with this much memory, another process takes over, so that nothing accumulates. */
const MAX_JOBS = 200;
const MAX_BYTES = 2 ** 30;

/** The work of a job process between its start and its end: one order after the other. */
export class JobRuns {
  /** Settles once the process has reported the end of its last job, or has no order to wait for; never rejects. */
  readonly ended: Promise<void>;
  readonly #send: (message: FromJob) => Promise<void>;
  readonly #stopping = new AbortController();
  #engine: WarmEngine | undefined;
  #order = Promise.withResolvers<JobOrder | undefined>();
  /** Workers that the job of the last order may have. */
  #workers = 1;
  /** Of that job, or of one before it that has ended. */
  #pool: EnginePool | undefined;
  #setup: JobSetup | undefined;
  #store: Promise<BlobStore> | undefined;
  /** Whether the service drains or is gone. An attempt that does not succeed is then lost, and its status gets no end. */
  #isDraining = false;
  /** Whether it has accepted an order. From then on it is ready when an order has ended, not when its libraries are imported. */
  #hasTaken = false;

  /** @param send settles once the message is sent; never rejects. */
  constructor(send: (message: FromJob) => Promise<void>) {
    this.#send = send;
    this.ended = this.#work();
  }

  receive(message: ToJob): void {
    switch (message.op) {
      case "setup":
        this.#prepare(message);
        break;
      case "order":
        this.#workers = message.order.workers;
        this.#order.resolve(message.order);
        break;
      case "workers":
        this.#workers = message.workers;
        this.#pool?.setWorkers(message.workers);
        break;
      case "stop":
        this.#stop(message.reason);
        break;
      default:
        message satisfies never;
    }
  }

  /** The service has ended, and no message will come. */
  stopWithService(): void {
    this.#stop("draining");
  }

  #prepare(setup: JobSetup): void {
    this.#setup = setup;
    this.#engine = setup.warm ? startEngine(WARM_LIBRARIES) : undefined;
    this.#store = openStore(setup.blobUrl, { policy: setup.policy });
    this.#store.catch(() => undefined); // The job meets the error where it opens its output.
    void Promise.allSettled([this.#engine?.ready, this.#store]).then(() => {
      if (!this.#hasTaken) void this.#send({ event: "ready" });
    });
  }

  #stop(reason: StopReason): void {
    if (reason === "draining") this.#isDraining = true;
    this.#stopping.abort(stopError(reason));
    this.#order.resolve(undefined);
  }

  async #work(): Promise<void> {
    for (let jobs = 1; ; jobs++) {
      const order = await this.#order.promise;
      if (order === undefined) break;
      this.#order = Promise.withResolvers();
      this.#hasTaken = true;
      void this.#send({ event: "accepted" });
      const isSound = await this.#run(order);
      if (!isSound || jobs >= MAX_JOBS || !this.#isFit()) break;
      void this.#send({ event: "ready" });
    }
    await this.#engine?.close();
  }

  /** Whether the process is still as clean as a new one, so that it can take another job. */
  #isFit(): boolean {
    return (
      this.#engine?.isIdle === true && !this.#stopping.signal.aborted && process.memoryUsage.rss() < MAX_BYTES
    );
  }

  /** Takes the warm engine, which is waiting already or starts with the first job that it suits. */
  readonly #openEngine: OpenEngine = (need) => {
    if (WarmEngine.suits(need)) this.#engine ??= new WarmEngine(need.libraries);
    const opened = (this.#engine?.open ?? openEngine)({ ...need, workers: this.#workers });
    this.#pool = opened.pool;
    return opened;
  };

  /** @returns false if the process must not take another job: it drains, or the job met a defect. */
  async #run(order: JobOrder): Promise<boolean> {
    const status = await this.#status(order);
    const events = new EventSender((batch) => this.#send({ event: "events", batch }));
    const end = await this.#result(
      order,
      (event) => {
        status?.report(event);
        events.report(event);
      },
      status,
    );
    events.flush();
    const isLost = this.#isDraining && "problem" in end;
    if (isLost) {
      status?.stop();
      return false;
    }
    await status?.writeEnd(end);
    if (status) void this.#send({ event: "timings", timings: status.timings });
    void this.#send({ event: "end", end });
    return !("problem" in end && end.problem.code === "internal");
  }

  async #result(order: JobOrder, report: Report, status: StatusWriter | undefined): Promise<JobEnd> {
    const { signal } = this.#stopping;
    const { policy, blobUrl } = storageOf(this.#setup!, order);
    const { memoryBytes, cluster } = this.#setup!;
    const { id, featureUrl, dataExtractorUrl, config, operation, options = {} } = order;
    const request = { id, featureUrl, dataExtractorUrl, config, blobUrl };
    const context = {
      workers: this.#workers,
      memoryBytes,
      cluster,
      notice: this.#log,
      policy,
      report,
      signal,
      onTiming: status?.onTiming,
      openEngine: this.#openEngine,
    };
    try {
      return { record: await runOperation({ operation, options }, request, context) };
    } catch (error) {
      if (signal.aborted) return { problem: problemOf(signal.reason) };
      return { problem: publicProblem(error, ({ id, what, text }) => this.#log(`${what} ${id}: ${text}`)) };
    }
  }

  /** Sent as a message, so that the service knows its operation and reads it before the end. */
  readonly #log = (text: string): void => {
    for (const line of text.split("\n")) void this.#send({ event: "log", line });
  };

  /** Undefined if the store cannot be opened, in which case the job fails as well. */
  async #status({ id, attempt, config, space = "" }: JobOrder): Promise<StatusWriter | undefined> {
    try {
      const store = (await this.#store!).within(space);
      return new StatusWriter({ store, id, attempt, config, log: this.#log });
    } catch {
      return undefined;
    }
  }
}

/** Undefined if there is no environment yet; a job that needs one then fails. */
function startEngine(libraries: readonly string[]): WarmEngine | undefined {
  try {
    return new WarmEngine(libraries);
  } catch (error) {
    if (error instanceof MucastError) return undefined;
    throw error;
  }
}

const STOP_ERRORS: Readonly<Record<StopReason, ConstructorParameters<typeof MucastError>>> = {
  canceled: ["canceled", "the job was cancelled on request"],
  timed_out: ["timed_out", "the job ran longer than it may"],
  draining: ["canceled", "the job was cancelled because its service ends"],
};

function stopError(reason: StopReason): MucastError {
  return new MucastError(...STOP_ERRORS[reason]);
}

/**
 * The storage of one order: its caller's space. If URLs of the service map to a folder, they map to the space alone, so that a job knows
 * its blobs by its caller's URLs and reaches no other space. Only the shared inputs of the order come from the whole folder.
 */
function storageOf({ blobUrl, policy: whole }: JobStorage, order: JobOrder): JobStorage {
  const { space = "", shared = [] } = order;
  const policy = { ...whole, own: { space, named: namedUrls(order) } };
  if (space === "") return { blobUrl, policy };
  const { mapped = [] } = policy;
  return {
    blobUrl: mappedBase(blobUrl, mapped) === undefined ? withSpace(blobUrl, space) : blobUrl,
    policy: {
      ...policy,
      mapped: mapped.flatMap(({ base, folder, root }) => [
        { base, folder, keys: shared.flatMap((url) => keyUnder(base, url)) },
        { base, folder: join(folder, space), root },
      ]),
    },
  };
}

function keyUnder(base: string, url: string): string[] {
  return url.startsWith(`${base}/`) ? [url.slice(base.length + 1)] : [];
}
