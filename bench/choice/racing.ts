import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { type BlobPair, runJob } from "../../test/end-to-end/jobs/job-runs.ts";
import { closeSharedEngines } from "../../test/end-to-end/jobs/shared-engines.ts";
import { workerSeconds } from "../processor-ticks.ts";
import type { Table } from "../table.ts";
import { MARKETS, type MarketName } from "../warnings/warning-markets.ts";

const PANELS: readonly MarketName[] = ["demo", "linear", "noise"];
const MAX_MARKETS = 2;

const LIGHTGBM = { model: "lightgbm", scaler: "none", model_params: { n_estimators: 50 } };

/** 16 candidates with the config itself: grids as a person would write them, most of them far from the best. */
const CANDIDATES: readonly object[] = [
  { grid: { alpha: [1, 10, 1_000, 10_000, 100_000] } },
  { model: "lasso", grid: { alpha: [0.0003, 0.001, 0.003] } },
  { ...LIGHTGBM, grid: { num_leaves: [4, 31], learning_rate: [0.02, 0.1] } },
  { ...LIGHTGBM, fit: "pooled", target: "relative", grid: { num_leaves: [4, 15] } },
  { fit: "pooled", target: "relative", model_params: { alpha: 1_000 } },
];

interface Run {
  readonly output: OutputBlob;
  /** Processor seconds of the engine's workers. */
  readonly seconds: number;
}

/** The same choice among 16 candidates with and without `racing`, on prices of 20 US stocks, a planted signal and noise, two jobs each. */
export async function benchRacing(): Promise<Table> {
  const rows: string[][] = [];
  try {
    for (const panel of PANELS) rows.push(...(await panelRows(panel)));
  } finally {
    await closeSharedEngines();
  }
  return {
    title: "choice with and without racing",
    header: [
      "",
      "processor s",
      "with racing",
      "ratio",
      "dropped",
      "members",
      "with racing",
      "R² %",
      "with racing",
    ],
    rows,
  };
}

async function panelRows(panel: MarketName): Promise<string[][]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-racing-"));
  try {
    const markets = (await MARKETS[panel](folder)).slice(0, MAX_MARKETS);
    const rows: string[][] = [];
    for (const [i, blobs] of markets.entries()) {
      rows.push(rowOf(`${panel} ${i + 1}`, await run(blobs, false), await run(blobs, true)));
      process.stderr.write(`${rows.at(-1)!.join("  ")}\n`);
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(blobs: BlobPair, racing: boolean): Promise<Run> {
  const choice = { candidates: CANDIDATES, over: "all", racing };
  const params = { model: "ridge", model_params: { alpha: 300 }, scaler: "standard", choice };
  const before = workerSeconds();
  const { output } = await runJob(blobs, JSON.stringify({ "ML params": params }), 2);
  return { output, seconds: workerSeconds() - before };
}

function rowOf(name: string, whole: Run, race: Run): string[] {
  const dropped = race.output.choice!.candidates.filter(({ dropped_on: date }) => date !== undefined);
  return [
    name,
    whole.seconds.toFixed(1),
    race.seconds.toFixed(1),
    (race.seconds / whole.seconds).toFixed(2),
    String(dropped.length),
    ...[whole, race].map(({ output }) => output.choice!.members.join(" ")),
    ...[whole, race].map(({ output }) =>
      (100 * (output.metrics.score.pooled.r2_zero ?? Number.NaN)).toFixed(3),
    ),
  ];
}
