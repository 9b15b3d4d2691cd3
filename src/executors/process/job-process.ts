/**
 * The process of jobs, one after the other. The service starts it, and ends it by SIGTERM; everything that it prints goes to the service's
 * log.
 */
import { join } from "node:path";
import { withSpace } from "../../blob/names.ts";
import { mappedBase, withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Report, Timing } from "../../contract/output/job-events.ts";
import { type PrivateDetails, publicProblem } from "../../contract/problems/public-problem.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import type { OnTiming } from "../../jobs/shared/timings.ts";
import { openParentChannel } from "../../processes/parent-channel.ts";
import { EventGatherer } from "../event-gatherer.ts";
import type { JobOrder } from "../executor.ts";
import { Pace } from "../pace.ts";
import { namedUrls, runOperation } from "../run-operation.ts";
import { boundTimings } from "../status-writer.ts";
import type { FromJob, JobEnd, JobSetup, JobStorage, ToJob } from "./messages.ts";
import { WARM_LIBRARIES, WarmEngine } from "./warm-engine.ts";

/** With more memory, another process takes over, so that nothing accumulates. */
const MAX_BYTES = 2 ** 30;
const BATCH_MILLISECONDS = 1_000;

const stopping = new AbortController();
let setup: JobSetup;
let engine: WarmEngine | undefined;
/** Workers that the job may have, and its pool. */
let workers = 1;
let pool: EnginePool | undefined;

const service = openParentChannel<ToJob, FromJob>((message) => {
  switch (message.op) {
    case "setup":
      prepare(message);
      break;
    case "order":
      workers = message.order.workers;
      void run(message.order);
      break;
    case "workers":
      workers = message.workers;
      pool?.setWorkers(workers);
      break;
    default:
      message satisfies never;
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

function prepare(received: JobSetup): void {
  setup = received;
  try {
    if (setup.warm) engine = new WarmEngine(WARM_LIBRARIES);
  } catch (error) {
    // A job that needs the environment then fails.
    if (!(error instanceof MucastError)) throw error;
  }
}

async function end(): Promise<void> {
  await engine?.close();
  await service.exit();
}

/** Runs a job, and then ends the process unless it is still as clean as a new one. */
async function run(order: JobOrder): Promise<void> {
  isRunning = true;
  const gathered = new EventGatherer();
  const sendBatch = async () => {
    const batch = gathered.take();
    if (batch !== undefined) await send({ event: "events", batch });
  };
  const pace = new Pace(BATCH_MILLISECONDS, sendBatch);
  const timings: Timing[] = [];
  const report: Report = (event) => {
    gathered.report(event);
    pace.plan();
  };
  const jobEnd = await runJob(order, report, (timing) => void timings.push(timing));
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

async function runJob(order: JobOrder, report: Report, onTiming: OnTiming): Promise<JobEnd> {
  const { memoryBytes, cluster } = setup;
  const { policy, blobUrl } = storageOf(setup, order);
  const { id, featureUrl, dataExtractorUrl, config, operation, options = {} } = order;
  const request = { id, featureUrl, dataExtractorUrl, config, blobUrl };
  const { signal } = stopping;
  const notice = (line: string) => console.log(line);
  const means = { workers, memoryBytes, cluster, openEngine: openWarmEngine, notice, policy, signal };
  try {
    const record = await runOperation({ operation, options }, request, { ...means, report, onTiming });
    return { kind: "succeeded", record };
  } catch (error) {
    const log = ({ id, what, text }: PrivateDetails) => console.log(`${what} ${id}: ${text}`);
    return { kind: "failed", problem: publicProblem(error, log) };
  }
}

/** Takes the warm engine, which waits already or starts with the first job that it suits. */
const openWarmEngine: OpenEngine = (need) => {
  if (WarmEngine.suits(need)) engine ??= new WarmEngine(need.libraries);
  const opened = (engine?.open ?? openEngine)({ ...need, workers });
  pool = opened.pool;
  return opened;
};

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
        {
          base,
          folder,
          keys: shared.flatMap((url) => (url.startsWith(`${base}/`) ? [url.slice(base.length + 1)] : [])),
        },
        { base, folder: join(folder, space), root },
      ]),
    },
  };
}
