import type { BlobPolicy } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { PORTABLE_LEVEL, requireLevel } from "../../engine/environment/engine-variables.ts";
import { findEnvironment, type JobEnvironment } from "../../engine/environment/environment.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { outOfMemory, privateMemory } from "../../engine/process-memory.ts";
import { now, type Timed, timed } from "./timings.ts";
import { inWorkFolder, openWorkFolder } from "./work-folder.ts";

export interface JobRequest {
  /** A path, a file: URL or an https URL. */
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text of the config, so that its numbers reach the engine as they are written. */
  readonly config: string;
  /** Folder or container of the output; by default that of the feature blob. */
  readonly blobUrl?: string | undefined;
  /** 1 to 64 letters, digits, `_` or `-`; names the output. */
  readonly id: string;
  /** Bounds of the window that the data-extraction blob does not say. */
  readonly window?: RequestedWindow | undefined;
  readonly tags?: readonly string[] | undefined;
  /** For a replay: what an earlier output records of its inputs and its config, for the provenance of the new one. */
  readonly recorded?: RecordedInputs | undefined;
}

/** Facts that a replay cannot know by itself: blobs may have moved, and only one section of a config is kept. */
export interface RecordedInputs {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  readonly configSha256: string;
  /** BLOB_URL, perhaps with its SAS, for inputs in that container; the output goes elsewhere. */
  readonly blobUrl?: string | undefined;
}

/** The resources of a job and its listener. `onTiming` receives each step once the step is over. */
export interface JobContext extends Timed {
  readonly workers: number;
  /** Memory limit of all its processes together, in bytes; by default 80 % of the machine's memory. */
  readonly memoryBytes?: number | undefined;
  /** Whether the engine's kernels are pinned, so that every x86-64-v3 processor computes the same bytes. */
  readonly portable?: boolean | undefined;
  /** The cluster to compute on; by default this machine, with `workers` tasks at a time. */
  readonly cluster?: ClusterEngine | undefined;
  /** Tasks at a time on the cluster; by default all of its slots. */
  readonly clusterTasks?: number | undefined;
  /** Receives a line for each event of the cluster, such as a lost node. Their number is bounded. */
  readonly notice?: ((line: string) => void) | undefined;
  readonly policy: BlobPolicy;
  readonly report: Report;
  /** Aborting it ends the job with the signal's reason; the job then leaves no output. */
  readonly signal: AbortSignal;
  readonly openEngine?: OpenEngine | undefined;
}

export interface EngineNeed
  extends Pick<JobContext, "workers" | "memoryBytes" | "portable" | "cluster" | "clusterTasks" | "notice"> {
  readonly environment: JobEnvironment;
  readonly libraries: readonly string[];
}

export interface JobEngine {
  readonly pool: EnginePool;
  readonly workFolder: string;
  /** Stops every process of the engine, then removes the folder. */
  close(): Promise<void>;
}

export type OpenEngine = (need: EngineNeed) => JobEngine;

/** A new engine in a new work folder; it imports its libraries while the job continues. */
export const openEngine: OpenEngine = (need) => {
  const { environment, libraries, memoryBytes, portable, cluster, notice } = need;
  const kernelLevel = portable === true ? PORTABLE_LEVEL : undefined;
  // The gateway of a cluster checks the cluster's processors.
  if (kernelLevel !== undefined && cluster === undefined) requireLevel(kernelLevel);
  const { python } = findEnvironment(cluster === undefined ? environment : "ray");
  const work = openWorkFolder();
  const pool = EnginePool.start({
    ...{ python, libraries, workFolder: work.path, kernelLevel, cluster, notice },
    workers: cluster === undefined ? need.workers : need.clusterTasks,
    ...(memoryBytes === undefined ? {} : { memoryLimitBytes: memoryBytes }),
  });
  return {
    pool,
    workFolder: work.path,
    close: async () => {
      await pool.close();
      work.remove();
    },
  };
};

/**
 * Opens the engine of a job, runs `body` with it, and closes it, even if `body` fails.
 * @param need without libraries there is only a work folder. @throws MucastError engine_unavailable, output_failed; errors of `body`.
 */
export async function withEngine<T>(
  {
    environment,
    libraries,
  }: Pick<EngineNeed, "environment"> & { readonly libraries: EngineNeed["libraries"] | undefined },
  context: JobContext,
  body: (engine: { readonly pool?: EnginePool; readonly workFolder: string }) => Promise<T>,
): Promise<T> {
  if (libraries === undefined) return await inWorkFolder((workFolder) => body({ workFolder }));
  const { workers, memoryBytes, portable, cluster, clusterTasks, notice } = context;
  const task = { workers, memoryBytes, portable, cluster, clusterTasks, notice };
  const settings = { ...task, environment, libraries };
  const start = now();
  const engine = (context.openEngine ?? openEngine)(settings);
  engine.pool.greeting.then(
    () => context.onTiming?.({ name: "engine", start, end: now() }),
    () => undefined, // The first task that runs throws this error.
  );
  try {
    return await body(engine);
  } finally {
    await timed(context, "close", () => engine.close());
  }
}

const MEMORY_INTERVAL_MILLISECONDS = 200;

/**
 * Runs a job while its own process stays below the job's memory limit; the engine's pool watches its own processes. On Linux only:
 * elsewhere the memory of a process reads as 0.
 * @throws MucastError out_of_memory; errors of `body`.
 */
export async function withMemoryGuard<T>(
  context: JobContext,
  body: (context: JobContext) => Promise<T>,
): Promise<T> {
  const limit = context.memoryBytes ?? defaultMemoryBytes();
  const guard = new AbortController();
  const look = () => {
    const held = privateMemory(process.pid);
    if (held <= limit) return;
    guard.abort(outOfMemory({ held, together: held, limit, share: limit, jobs: 1 }));
  };
  look();
  const timer = setInterval(look, MEMORY_INTERVAL_MILLISECONDS).unref();
  try {
    return await body({ ...context, signal: AbortSignal.any([context.signal, guard.signal]) });
  } finally {
    clearInterval(timer);
  }
}
