/** An executor with its own folder for temporary files, and functions that inspect its processes. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type BlobPair, newFolder } from "../../../test/end-to-end/jobs/job-runs.ts";
import type { Execution, JobOrder } from "../executor.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import { ProcessExecutor, type ProcessExecutorOptions } from "./process-executor.ts";

/** Fits that take minutes each, the longest that the schema accepts; tests end them by a kill. */
export const ENDLESS = `{"ML params": {"model": "catboost", "n_splits": 1,
  "model_params": {"iterations": 100000, "depth": 10}}}`;
/** For jobs whose model does not matter: catboost, because its import is the shortest. */
export const QUICK = `{"ML params": {"model": "catboost", "n_splits": 2, "intervals": {"alpha": 0.2},
  "model_params": {"iterations": 2}}}`;
export const RIDGE = `{"ML params": {"model": "ridge", "n_splits": 2, "intervals": {"alpha": 0.2}}}`;

const tiny = "test/cases/tiny/data";
export const TINY: BlobPair = {
  folder: "test/cases/tiny",
  features: `${tiny}/feature_engine_tiny.json`,
  prices: `${tiny}/data_extractor_tiny.json`,
};

/** The folders of one executor. */
export interface Sandbox {
  /** Holds outputs. */
  readonly blobUrl: string;
  /** TMPDIR of its job processes, by which a test recognises them. */
  readonly temporary: string;
}

export async function newSandbox(): Promise<Sandbox> {
  const [blobUrl, temporary] = [await newFolder(), await newFolder()];
  await mkdir(join(blobUrl, "data"));
  return { blobUrl, temporary };
}

export type Environment = Record<string, string | undefined>;

/** @param env gets the sandbox's TMPDIR; the executor sees later changes to it. */
export function executorIn(
  { blobUrl, temporary }: Sandbox,
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

/** Runs one job to its end. */
export async function run(executor: ProcessExecutor, config: string) {
  const order = orderOf(TINY, config);
  const execution = await executor.start(order, new RecordingListener());
  return { order, execution, end: await execution.ended };
}

/** Closes the executor after `use`, and asserts that no process and no temporary file is left. */
export async function withExecutor(
  use: (executor: ProcessExecutor, sandbox: Sandbox) => Promise<void>,
  options: Parameters<typeof executorIn>[1] = {},
): Promise<void> {
  const sandbox = await newSandbox();
  const executor = executorIn(sandbox, options);
  try {
    await use(executor, sandbox);
  } finally {
    await executor.close();
    assert.deepEqual(processesOf(sandbox), []);
    assert.deepEqual(temporaryFilesOf(sandbox), []);
  }
}

export function outputsOf({ blobUrl }: Sandbox): string[] {
  return readdirSync(join(blobUrl, "data"));
}

export function outputOf({ blobUrl }: Sandbox, { id, operation }: JobOrder): string {
  const prefix = operation === "run_ml_job" ? "ml" : "nn";
  return readFileSync(join(blobUrl, "data", `${prefix}_engine_${id}.json`), "utf8");
}

export function temporaryFilesOf({ temporary }: Sandbox): string[] {
  return readdirSync(temporary);
}

/** Pid of the job process of an execution. */
export function pidOf({ handle }: Execution): number {
  return Number(handle.split("-")[0]);
}

/** Every living process of a sandbox: job processes, their engines, and processes that wait for a job. */
export function processesOf({ temporary }: Sandbox): number[] {
  const isIn = (pid: string) => textOf(`/proc/${pid}/environ`).split("\0").includes(`TMPDIR=${temporary}`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isIn(name))
    .map(Number);
}

/** Python workers of a sandbox that have a matrix mapped, which means they are fitting it. */
export function fittingIn(sandbox: Sandbox): number[] {
  return processesOf(sandbox).filter((pid) => /\/x\d+\.npy/.test(textOf(`/proc/${pid}/maps`)));
}

/** Empty if the process has ended, or is a zombie. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Listing every process of the system costs about a millisecond. */
const MILLISECONDS_BETWEEN_LOOKS = 20;

/** Waits until `look` returns something; the test's own time limit ends it. */
export async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    await pause(MILLISECONDS_BETWEEN_LOOKS);
  }
}

export function untilGone(sandbox: Sandbox): Promise<true> {
  return until(() => (processesOf(sandbox).length === 0 ? true : undefined));
}
