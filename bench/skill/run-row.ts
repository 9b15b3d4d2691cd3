import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { MucastError } from "../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { runDlJob, runMlJob } from "../../src/jobs/run-job.ts";
import { BenchError, peerPython } from "../bench.ts";
import { processTimeOf } from "../processor-ticks.ts";
import type { ForecastFile } from "./judged-rows.ts";
import type { OwnModel, SkillRow } from "./skill-rows.ts";

/** What all rows of a run share. */
export interface SkillRun {
  /** Folder for the panel of the peers. */
  readonly folder: string;
  /** Folder for the forecasts of each row, which may contain those of an earlier run. */
  readonly forecastFolder: string;
  /** Digest of the blobs: equal for the same prices and dates. */
  readonly id: string;
  readonly features: string;
  readonly prices: string;
  /** `YYYY-MM-DD`, the Learning_end of the blobs. */
  readonly cut: string;
  readonly delay: number;
  /** Workers of a job, and threads of a peer. */
  readonly cores: number;
}

const JOBS = { run_ml_job: runMlJob, run_dl_job: runDlJob };

/** Warnings that a row does not match its name. */
const REFIT_WARNINGS = ["failed_refit", "no_refit"];

/**
 * Runs one row, unless its file exists.
 * @returns the path of its ForecastFile.
 * @throws BenchError that names a failed job or peer program.
 */
export async function runRow(run: SkillRun, row: SkillRow): Promise<string> {
  const path = join(run.forecastFolder, `${row.name}-${digestOf(run, row)}.json`);
  if (existsSync(path)) return path;
  mkdirSync(run.forecastFolder, { recursive: true });
  const part = `${path}.part`;
  if (row.by === "peer") {
    writePeerPanel(run);
    runPeerProgram(run, ...row.program, run.folder, part);
  } else writeFileSync(part, JSON.stringify(await runOurs(run, row, row.name)));
  renameSync(part, path);
  return path;
}

/** A digest of everything that affects the forecasts and seconds of a row, except the programs. */
function digestOf({ id, cores, delay }: SkillRun, row: SkillRow): string {
  const how = row.by === "peer" ? row.program : [row.operation, row.config];
  return createHash("sha256")
    .update(JSON.stringify([id, cores, how, ...(delay === 0 ? [] : [delay])]))
    .digest("hex")
    .slice(0, 16);
}

/** The panel for peers, from the blobs for jobs; made once. */
function writePeerPanel(run: SkillRun): void {
  if (existsSync(join(run.folder, "names.json"))) return;
  runPeerProgram(run, "panel.py", run.features, run.prices, run.cut, `${run.delay}`, run.folder);
}

/** A whole job, from its blobs to its output. */
async function runOurs(run: SkillRun, { operation, config }: OwnModel, id: string): Promise<ForecastFile> {
  const started = performance.now();
  const before = processorSeconds();
  const record = await JOBS[operation](
    {
      featureUrl: run.features,
      dataExtractorUrl: run.prices,
      config: JSON.stringify(withDelay(config, run.delay)),
      id,
    },
    {
      workers: run.cores,
      policy: { allowed: [] },
      report: (event) => {
        if (event.kind !== "warning" || !REFIT_WARNINGS.includes(event.warning.code)) return;
        process.stderr.write(`${id}: ${event.warning.message}\n`);
      },
      signal: new AbortController().signal,
    },
  ).catch((cause: unknown) => {
    throw cause instanceof MucastError ? new BenchError(`${id}: ${cause.message}`, { cause }) : cause;
  });
  const seconds = (performance.now() - started) / 1_000;
  const after = processorSeconds();
  const output = fileURLToPath(record.output_url);
  const { forecasts, failures } = JSON.parse(readFileSync(output, "utf8")) as OutputBlob;
  await rm(output);
  for (const { ticker, message } of failures) process.stderr.write(`${id}, ${ticker}: ${message}\n`);
  const processor_seconds = before === null || after === null ? null : after - before;
  return { forecasts, seconds, processor_seconds };
}

/** The delay is a setting beside the model or the network. */
function withDelay(config: object, delay: number): object {
  const { "ML params": ml, "NN params": networks } = config as Record<string, { "Dot prediction": object }>;
  return networks === undefined
    ? { "ML params": { ...ml, delay } }
    : { "NN params": { "Dot prediction": { ...networks["Dot prediction"], delay } } };
}

/** For this process and all its children that have ended; null on systems other than Linux. */
function processorSeconds(): number | null {
  if (process.platform !== "linux") return null;
  const { seconds, endedChildren } = processTimeOf(process.pid)!;
  return seconds + endedChildren;
}

function runPeerProgram(run: SkillRun, ...[program, ...args]: readonly string[]): void {
  const path = fileURLToPath(new URL(`../peers/skill/${program}`, import.meta.url));
  const env = { ...process.env, OMP_NUM_THREADS: `${run.cores}`, OPENBLAS_NUM_THREADS: `${run.cores}` };
  const { status, error } = spawnSync(peerPython("skill"), [path, ...args], {
    env,
    stdio: ["ignore", 2, 2],
  });
  if (error) throw error;
  if (status !== 0) throw new BenchError(`${program} ${args[0]} ended with exit code ${status}`);
}
