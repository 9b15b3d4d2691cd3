import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { runDlJob } from "../../src/jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../src/jobs/ml/run-ml-job.ts";
import { peerPython } from "../peer-python.ts";
import type { ForecastFile } from "./forecast-file.ts";
import type { Ours, SkillRow } from "./skill-rows.ts";

/** What all rows of a run share. */
export interface SkillRun {
  /** Takes the panel of the peers and all forecasts. */
  readonly folder: string;
  readonly features: string;
  readonly prices: string;
  /** `YYYY-MM-DD`, the Learning_end of the blobs. */
  readonly cut: string;
  /** Workers of a job, and threads of a peer. */
  readonly cores: number;
}

const JOBS = { run_ml_job: runMlJob, run_dl_job: runDlJob };

/** Runs one row. @returns the path of its ForecastFile. */
export async function runRow(run: SkillRun, row: SkillRow): Promise<string> {
  const path = join(run.folder, `${row.name}.json`);
  if (row.by === "peer") runPeerProgram(run, "forecast.py", row.name, run.folder, path);
  else writeFileSync(path, JSON.stringify(await runOurs(run, row, row.name)));
  return path;
}

/** The panel that peers read, from the blobs that jobs read. */
export function writePeerPanel(run: SkillRun): void {
  runPeerProgram(run, "panel.py", run.features, run.prices, run.cut, run.folder);
}

/** A whole job, from its blobs to its output. */
async function runOurs(run: SkillRun, { operation, config }: Ours, id: string): Promise<ForecastFile> {
  const started = performance.now();
  const record = await JOBS[operation](
    { featureUrl: run.features, dataExtractorUrl: run.prices, config: JSON.stringify(config), id },
    {
      workers: run.cores,
      policy: { allowed: [] },
      report: () => undefined,
      signal: new AbortController().signal,
    },
  );
  const seconds = (performance.now() - started) / 1_000;
  const output = fileURLToPath(record.output_url);
  const { forecasts, failures } = JSON.parse(readFileSync(output, "utf8")) as OutputBlob;
  await rm(output);
  for (const { ticker, message } of failures) process.stderr.write(`${id}, ${ticker}: ${message}\n`);
  return { forecasts, seconds };
}

function runPeerProgram(run: SkillRun, program: string, ...args: readonly string[]): void {
  const path = fileURLToPath(new URL(`../peers/skill/${program}`, import.meta.url));
  const env = { ...process.env, OMP_NUM_THREADS: `${run.cores}`, OPENBLAS_NUM_THREADS: `${run.cores}` };
  const { status, error } = spawnSync(peerPython("skill"), [path, ...args], {
    env,
    stdio: ["ignore", 2, 2],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args[0]} ended with exit code ${status}`);
}
