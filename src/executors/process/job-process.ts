/**
 * The process of jobs, one after the other. The service starts it, and ends it by SIGTERM; everything that it prints goes to the service's
 * log.
 */
import { withoutSignature } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { EventBatch, Timing } from "../../contract/output/job-events.ts";
import { type PrivateDetails, publicProblem } from "../../contract/problems/public-problem.ts";
import { findEnvironment } from "../../engine/environment/environment.ts";
import { WarmHost } from "../../engine/pool/host-process.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { type EngineNeed, type JobContext, type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import { openWorkFolder } from "../../jobs/shared/work-folder.ts";
import { openParentChannel } from "../../processes/parent-channel.ts";
import { EventGatherer, Pace } from "../event-gatherer.ts";
import type { ExecutionEnd, JobOrder } from "../executor.ts";
import { type JobStorage, storageOf } from "../job-storage.ts";
import { runOperation } from "../run-operation.ts";
import { boundTimings } from "../status-blobs.ts";

/** What the service sends: what every job of the process shares, then one order after the other. */
export type ToJob =
  | ({
      readonly op: "setup";
      /** Limit of its memory in bytes, including everything it starts. */
      readonly memoryBytes: number;
      /** The cluster that it computes on; by default this machine. */
      readonly cluster?: ClusterEngine | undefined;
      /** Whether the process starts an engine before it has an order. */
      readonly warm: boolean;
    } & JobStorage)
  | { readonly op: "order"; readonly order: JobOrder }
  /** How many workers the job of the last order may have from now on. */
  | { readonly op: "workers"; readonly workers: number };

/** What a job process sends. Nothing follows the end of a job that was stopped. */
export type FromJob =
  | { readonly event: "events"; readonly batch: EventBatch }
  | { readonly event: "timings"; readonly timings: readonly Timing[] }
  | { readonly event: "end"; readonly end: JobEnd; readonly isLast: boolean };

export type JobEnd = Exclude<ExecutionEnd, { kind: "lost" }>;

/** Together hardly slower and larger than scikit-learn alone; catboost and PyTorch would cost far more. */
const WARM_LIBRARIES = ["sklearn", "xgboost", "lightgbm"];

/**
 * An engine that serves one job after the other, and starts before or together with the first. Libraries stay imported, and every job gets
 * new workers.
 */
class WarmEngine {
  readonly #python = findEnvironment("ml").python;
  readonly #work = openWorkFolder();
  readonly #host: WarmHost;
  #closed: Promise<void> | undefined;

  constructor(libraries: readonly string[]) {
    this.#host = new WarmHost({ python: this.#python, libraries, workFolder: this.#work.path });
  }

  /** Whether it waits for a job. */
  get isIdle(): boolean {
    return this.#closed === undefined && this.#host.waits;
  }

  open({ libraries, workers, memoryBytes }: EngineNeed): ReturnType<OpenEngine> {
    const { path: workFolder } = this.#work;
    const limit = memoryBytes === undefined ? {} : { memoryLimitBytes: memoryBytes };
    const shared = { python: this.#python, workFolder, warmHost: this.#host };
    const pool = EnginePool.start({ ...shared, libraries, workers, ...limit });
    return {
      pool,
      workFolder,
      close: async () => {
        await pool.close();
        if (!this.#work.clear()) await this.close();
      },
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#host.close().then(() => this.#work.remove());
    return this.#closed;
  }
}

/** With more memory, another process takes over, so that nothing accumulates. */
const MAX_BYTES = 2 ** 30;
const BATCH_MILLISECONDS = 1_000;

const stopping = new AbortController();
let setup: Extract<ToJob, { op: "setup" }>;
let engine: WarmEngine | undefined;
/** Workers that the job may have, and its pool. */
let workers = 1;
let pool: EnginePool | undefined;

const service = openParentChannel<ToJob, FromJob>((message) => {
  if (message.op === "setup") {
    setup = message;
    try {
      if (setup.warm) engine = new WarmEngine(WARM_LIBRARIES);
    } catch (error) {
      // A job that needs the environment then fails.
      if (!(error instanceof MucastError)) throw error;
    }
  } else if (message.op === "order") {
    workers = message.order.workers;
    void run(message.order);
  } else {
    workers = message.workers;
    pool?.setWorkers(workers);
  }
});

let isRunning = false;
process.on("SIGTERM", () => {
  stopping.abort(new MucastError("canceled", "the job was stopped by its service"));
  if (!isRunning) void end();
});

/** Any text of a message may quote the URL of a blob. */
function send(message: FromJob): Promise<void> {
  return service.send(JSON.parse(withoutSignature(JSON.stringify(message))));
}

async function end(): Promise<void> {
  await engine?.close();
  await service.exit();
}

/** Runs a job, and then ends the process unless it is still as clean as a new one. */
async function run(order: JobOrder): Promise<void> {
  isRunning = true;
  const gathered = new EventGatherer();
  const timings: Timing[] = [];
  const sendBatch = async () => {
    const batch = gathered.take();
    if (batch !== undefined) await send({ event: "events", batch });
  };
  const pace = new Pace(BATCH_MILLISECONDS, sendBatch);
  const jobEnd = await runJob(order, {
    report: (event) => {
      gathered.report(event);
      pace.plan();
    },
    onTiming: (timing) => void timings.push(timing),
  });
  await pace.stop();
  void sendBatch();
  void send({ event: "timings", timings: boundTimings(timings) });
  const { aborted } = stopping.signal;
  const isSound = jobEnd.kind === "succeeded" || jobEnd.problem.code !== "internal";
  const isLast = aborted || !isSound || engine?.isIdle !== true || process.memoryUsage.rss() >= MAX_BYTES;
  // The service knows why it has stopped a job.
  if (jobEnd.kind === "succeeded" || !aborted) void send({ event: "end", end: jobEnd, isLast });
  isRunning = false;
  if (isLast) await end();
}

async function runJob(order: JobOrder, reports: Pick<JobContext, "report" | "onTiming">): Promise<JobEnd> {
  const { memoryBytes, cluster } = setup;
  const { policy, blobUrl } = storageOf(setup, order);
  const { id, featureUrl, dataExtractorUrl, config, operation, options = {} } = order;
  const request = { id, featureUrl, dataExtractorUrl, config, blobUrl };
  const { signal } = stopping;
  const notice = (line: string) => console.log(line);
  const context = { workers, memoryBytes, cluster, openEngine: openWarmEngine, notice, policy, signal };
  try {
    const record = await runOperation({ operation, options }, request, { ...context, ...reports });
    return { kind: "succeeded", record };
  } catch (error) {
    const log = ({ id, what, text }: PrivateDetails) => console.log(`${what} ${id}: ${text}`);
    return { kind: "failed", problem: publicProblem(error, log) };
  }
}

/**
 * Takes the warm engine, which waits already or starts with the first job that it suits. A network's job gets a separate engine, because
 * its libraries start their own threads; so does a portable job and a job on a cluster.
 */
const openWarmEngine: OpenEngine = (jobNeed) => {
  const need = { ...jobNeed, workers };
  const { environment, portable, cluster } = need;
  const isSuited = environment === "ml" && portable !== true && cluster === undefined;
  if (isSuited) engine ??= new WarmEngine(need.libraries);
  else engine?.close().catch((error: unknown) => console.error(error));
  const opened = isSuited ? engine!.open(need) : openEngine(need);
  pool = opened.pool;
  return opened;
};
