/** Runs a job in this process, run_ml_job by default, and reads its results. */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JobEvent } from "../../../src/contract/output/job-events.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import type { ResultRecord } from "../../../src/contract/output/result-record.ts";
import { runMlJob } from "../../../src/jobs/run-job.ts";
import type { JobContext, JobRequest, OpenEngine } from "../../../src/jobs/shared/job.ts";
import { featureBlob, type Market, priceBlob } from "../markets/market.ts";
import { closeSharedEngines, openSharedEngine } from "./shared-engines.ts";

/** The two input blobs on disk, in their own folder. */
export interface BlobPair {
  readonly folder: string;
  readonly features: string;
  readonly prices: string;
}

const folders: string[] = [];

/** A new folder, removed by `removeFolders`. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-e2e-"));
  folders.push(folder);
  return folder;
}

/** Also stops the engines. */
export async function removeFolders(): Promise<void> {
  await closeSharedEngines();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
}

/** Parquet tables have the names of JSON here: a reader goes by the bytes. */
export async function writeTexts(
  features: string | Uint8Array,
  prices: string | Uint8Array,
): Promise<BlobPair> {
  const folder = await newFolder();
  const data = join(folder, "data");
  await mkdir(data);
  const pair = {
    folder,
    features: join(data, "feature_engine_1.json"),
    prices: join(data, "data_extractor_1.json"),
  };
  await writeFile(pair.features, features);
  await writeFile(pair.prices, prices);
  return pair;
}

export function writeMarket(market: Market): Promise<BlobPair> {
  return writeTexts(featureBlob(market), priceBlob(market));
}

export interface JobRun {
  /** Of the output. */
  readonly url: string;
  readonly text: string;
  readonly output: OutputBlob;
  readonly events: readonly JobEvent[];
}

export type Job = (request: JobRequest, context: JobContext) => Promise<ResultRecord>;

let runs = 0;

/**
 * One job in this process, in an engine that the jobs of this file share: a job's results do not depend on earlier jobs, as
 * process-executor.slow.test.ts shows.
 * @param config JSON text.
 */
export async function runJob(
  blobs: BlobPair,
  config: string,
  workers = 1,
  job: Job = runMlJob,
  openEngine: OpenEngine = openSharedEngine,
): Promise<JobRun> {
  const events: JobEvent[] = [];
  const record = await job(
    { featureUrl: blobs.features, dataExtractorUrl: blobs.prices, config, id: `run-${++runs}` },
    {
      workers,
      policy: { allowed: [] },
      report: (event) => events.push(event),
      signal: new AbortController().signal,
      openEngine,
    },
  );
  const text = readFileSync(fileURLToPath(record.output_url), "utf8");
  return { url: record.output_url, text, output: JSON.parse(text), events };
}

const JUDGEMENTS: ReadonlySet<string> = new Set(["no_skill", "wild_forecast"]);

/** Without the warnings that judge forecasts, which are arbitrary on a small market of noise. */
export function unjudged(warnings: OutputBlob["warnings"]): OutputBlob["warnings"] {
  return warnings.filter(({ code }) => !JUDGEMENTS.has(code));
}

/** The output's text without id and time, which identify the run. */
export function withoutIdentity(text: string): string {
  return text.replace(/"id":"[^"]*"/, '"id":""').replace(/"created_at":"[^"]*"/, '"created_at":""');
}

/** The same without provenance, which contains the digests of the inputs. */
export function withoutProvenance(text: string): string {
  return withoutIdentity(text).replace(/"provenance":\{.*?"device":"[^"]*"\},/s, "");
}
