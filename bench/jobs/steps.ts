/** Where the time of a job goes, step by step, for 20 and for 500 tickers. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { formatDay, parseDay } from "../../src/contract/market/dates.ts";
import type { JobEvent, Stage } from "../../src/contract/output/job-events.ts";
import { runMlJob } from "../../src/jobs/ml/run-ml-job.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import type { Table } from "../table.ts";

const DAYS = 2_500;
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
      const csvPath = join(folder, "prices.csv");
      writeFileSync(csvPath, randomWalks(tickers));
      const blobs = await preparePrices({ csvPath, outFolder: folder });
      const megabytes = statSync(blobs.featurePath).size / 1e6;
      for (const [name, params] of Object.entries(CONFIGS)) {
        const steps = await timeSteps(blobs.featurePath, blobs.dataExtractorPath, { "ML params": params });
        rows.push([`${tickers} x ${DAYS}, ${name}`, megabytes.toFixed(0), ...steps.map((s) => s.toFixed(2))]);
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

/** Seconds from the start of the job to the end of each step, and in all. */
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

/** Daily prices of geometric random walks, as a wide CSV. The generator is seeded, so every run has the same. */
function randomWalks(tickers: number): string {
  let state = 12345;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const prices = Array.from({ length: tickers }, () => 100);
  const lines = [["date", ...prices.map((_, t) => `T${t}`)].join(",")];
  const first = parseDay("2013-01-01")!;
  for (let day = first; lines.length <= DAYS; day++) {
    if ((day + 4) % 7 === 0 || (day + 4) % 7 === 6) continue;
    for (let t = 0; t < tickers; t++) prices[t]! *= Math.exp(0.01 * normal());
    lines.push([formatDay(day), ...prices.map((price) => price.toFixed(4))].join(","));
  }
  return `${lines.join("\n")}\n`;
}
