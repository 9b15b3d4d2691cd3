/** How the time of a job is divided, step by step, for 20 and for 500 tickers. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { JobEvent, Stage } from "../../src/contract/output/job-events.ts";
import { runMlJob } from "../../src/jobs/run-job.ts";
import type { Table } from "../table.ts";
import { MARKET_DAYS, writeMarket } from "./job-blobs.ts";

const CONFIGS = {
  ridge: { model: "ridge", cv_test_size: 15, n_splits: 15 },
  lightgbm: {
    model: "lightgbm",
    model_params: { n_estimators: 20, num_leaves: 7 },
    cv_test_size: 60,
    n_splits: 3,
  },
};

export async function benchSteps(): Promise<readonly Table[]> {
  const rows: string[][] = [];
  for (const tickers of [20, 500]) {
    const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
    try {
      const blobs = await writeMarket(tickers, folder);
      const megabytes = statSync(blobs.featurePath).size / 1e6;
      for (const [name, params] of Object.entries(CONFIGS)) {
        const steps = await timeSteps(blobs.featurePath, blobs.dataExtractorPath, { "ML params": params });
        rows.push([
          `${tickers} x ${MARKET_DAYS}, ${name}`,
          megabytes.toFixed(0),
          ...steps.map((s) => s.toFixed(2)),
        ]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return [
    {
      title: "where the time goes (seconds; reading, importing and fitting overlap)",
      header: ["job", "MB", "first fit done", "all read", "all fitted", "evaluated", "written", "total"],
      rows,
    },
  ];
}

/** Seconds from the start of the job to the end of each step, and in total. */
async function timeSteps(featureUrl: string, dataExtractorUrl: string, config: object): Promise<number[]> {
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1_000;
  const last = new Map<Stage, number>();
  let firstFit = Number.NaN;
  const report = (event: JobEvent) => {
    if (event.kind !== "progress") return;
    last.set(event.stage, seconds());
    if (event.stage === "fit" && event.done > 0 && Number.isNaN(firstFit)) firstFit = seconds();
  };
  await runMlJob(
    { featureUrl, dataExtractorUrl, config: JSON.stringify(config), id: randomUUID() },
    {
      workers: availableParallelism(),
      policy: { allowed: [] },
      report,
      signal: new AbortController().signal,
    },
  );
  const stages = (["read", "fit", "evaluate", "write"] as const).map(
    (stage) => last.get(stage) ?? Number.NaN,
  );
  return [firstFit, ...stages, seconds()];
}
