/** Job processes as tests meet them: an executor with a folder for temporary files of its own, and a look at what runs. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type BlobPair, newFolder } from "../../../test/end-to-end/job-runs.ts";
import type { ExecutionEvent } from "../../contract/api/job-events.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import type { Execution, ExecutionListener, JobOrder } from "../executor.ts";
import { ProcessExecutor, type ProcessExecutorOptions } from "./process-executor.ts";

/** Fits that take minutes each, the longest that are accepted: they end by being killed. */
export const ENDLESS = `{"ML params": {"model": "catboost", "n_splits": 1,
  "model_params": {"iterations": 100000, "depth": 10}}}`;
export const RIDGE = `{"ML params": {"model": "ridge", "n_splits": 2, "intervals": {"alpha": 0.2}}}`;

const tiny = "examples/tiny/data";
export const TINY: BlobPair = {
  folder: "examples/tiny",
  features: `${tiny}/feature_engine_tiny.json`,
  prices: `${tiny}/data_extractor_tiny.json`,
};

export interface Place {
  /** Where outputs and status blobs go. */
  readonly blobUrl: string;
  /** TMPDIR of its job processes, by which they are told from others. */
  readonly temporary: string;
}

export async function newPlace(): Promise<Place> {
  const [blobUrl, temporary] = [await newFolder(), await newFolder()];
  await mkdir(join(blobUrl, "data"));
  return { blobUrl, temporary };
}

export type Environment = Record<string, string | undefined>;

/** @param env gets the place's TMPDIR; what is changed in it later, the executor sees. */
export function executorAt(
  { blobUrl, temporary }: Place,
  { env = { ...process.env }, ...options }: Partial<ProcessExecutorOptions> & { env?: Environment } = {},
): ProcessExecutor {
  env.TMPDIR = temporary;
  return new ProcessExecutor({
    blobUrl,
    policy: { allowed: [] },
    warm: false,
    log: (line) => console.error(line),
    ...options,
    env,
  });
}

let orders = 0;

export function orderOf(pair: BlobPair, config: string, changes: Partial<JobOrder> = {}): JobOrder {
  return {
    id: `op-${++orders}`,
    attempt: 1,
    operation: config.includes('"NN params"') ? "run_dl_job" : "run_ml_job",
    featureUrl: pair.features,
    dataExtractorUrl: pair.prices,
    config,
    workers: 2,
    ...changes,
  };
}

/** Hears an execution, and waits for what it tells. */
export class Hearing implements ExecutionListener {
  readonly events: ExecutionEvent[] = [];
  timings: readonly Timing[] = [];

  onEvent(event: ExecutionEvent): void {
    this.events.push(event);
  }

  onTimings(timings: readonly Timing[]): void {
    this.timings = timings;
  }
}

/** Pid of the job process of an execution. */
export function pidOf({ handle }: Execution): number {
  return Number(handle.split("-")[0]);
}

/** Every living process of a place: of jobs, of their engines, and what waits for a job. */
export function processesOf({ temporary }: Place): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
      return environment.includes(`TMPDIR=${temporary}`) ? [Number(name)] : [];
    } catch {
      return []; // It has ended, or is a zombie.
    }
  });
}

/** Python workers of a place that have a matrix mapped, and so are fitting it. */
export function fittingIn(place: Place): number[] {
  return processesOf(place).filter((pid) => {
    try {
      return /\/x\d+\.npy/.test(readFileSync(`/proc/${pid}/maps`, "latin1"));
    } catch {
      return false;
    }
  });
}

/** Waits until `look` gives something; the test's own time limit ends it. */
export async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    await pause(5);
  }
}

export function untilGone(place: Place): Promise<true> {
  return until(() => (processesOf(place).length === 0 ? true : undefined));
}
