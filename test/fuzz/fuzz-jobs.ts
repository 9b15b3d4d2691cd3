/** Runs made-up configs as jobs: the checks of the config, the blobs, the trial fit, the columns, the fits, the output. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { runMlJob } from "../../src/jobs/run-job.ts";
import { featureBlob, priceBlob } from "../end-to-end/markets/market.ts";
import { fuzzMarket } from "./fuzz-market.ts";
import { caseOf, type FuzzCase } from "./model-params-cases.ts";
import { WatchedEngine, type WorkEffects } from "./watched-engine.ts";

export interface FuzzReport {
  readonly cases: number;
  /** The number of cases with each outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly findings: readonly { readonly of: FuzzCase; readonly watched: WorkEffects }[];
  readonly slowest: { readonly of: FuzzCase; readonly seconds: number } | undefined;
  readonly largest: { readonly of: FuzzCase; readonly bytes: number } | undefined;
  readonly seesSockets: boolean;
}

/** Runs the cases of `numbers`, in `lanes` engines in parallel. @param tell receives every case with its effects. */
export async function fuzzJobs(
  seed: number,
  numbers: Iterable<number>,
  lanes: number,
  tell: (of: FuzzCase, watched: WorkEffects) => void = () => undefined,
): Promise<FuzzReport> {
  const blobs = mkdtempSync(join(tmpdir(), "mucast-fuzz-blobs-"));
  const outcomes = new Map<string, number>();
  const done: { of: FuzzCase; watched: WorkEffects }[] = [];
  const waiting = numbers[Symbol.iterator]();
  const engines = Array.from({ length: lanes }, () => new WatchedEngine());
  const { seesSockets } = engines[0]!;
  writeFileSync(join(blobs, "features.json"), featureBlob(fuzzMarket()));
  writeFileSync(join(blobs, "prices.json"), priceBlob(fuzzMarket()));
  const work = async (engine: WatchedEngine) => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      const of = caseOf(seed, next.value);
      const watched = await engine.watch((signal) => runCase(of, blobs, engine, signal));
      outcomes.set(watched.outcome, (outcomes.get(watched.outcome) ?? 0) + 1);
      done.push({ of, watched: { ...watched, message: "" } });
      if (watched.findings.length > 0) done.at(-1)!.watched = watched;
      tell(of, watched);
    }
  };
  try {
    await Promise.all(engines.map(work));
  } finally {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(blobs, { recursive: true });
  }
  const most = (of: (watched: WorkEffects) => number) =>
    done.reduce((a, b) => (of(b.watched) > of(a.watched) ? b : a), done[0]!);
  const [slow, large] = [most(({ seconds }) => seconds), most(({ bytes }) => bytes)];
  return {
    cases: done.length,
    outcomes,
    findings: done.filter(({ watched }) => watched.findings.length > 0),
    slowest: slow && { of: slow.of, seconds: slow.watched.seconds },
    largest: large && { of: large.of, bytes: large.watched.bytes },
    seesSockets,
  };
}

/** @returns `succeeded`, with the codes of the tickers that failed. */
async function runCase(
  { config, number }: FuzzCase,
  blobs: string,
  engine: WatchedEngine,
  signal: AbortSignal,
): Promise<string> {
  const record = await runMlJob(
    {
      featureUrl: join(blobs, "features.json"),
      dataExtractorUrl: join(blobs, "prices.json"),
      blobUrl: join(blobs, "outputs"),
      config,
      id: `case-${number}`,
    },
    {
      workers: 1,
      policy: { allowed: [] },
      report: () => undefined,
      signal,
      openEngine: () => {
        const workFolder = mkdtempSync(join(engine.workFolder, "job-"));
        return { pool: engine.pool, workFolder, close: async () => rmSync(workFolder, { recursive: true }) };
      },
    },
  );
  const path = fileURLToPath(record.output_url);
  const { failures } = JSON.parse(readFileSync(path, "utf8")) as OutputBlob;
  rmSync(path);
  return [...new Set(["succeeded", ...failures.map(({ code }) => code)])].join(" ");
}
