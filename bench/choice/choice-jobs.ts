import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { type BlobPair, runJob } from "../../test/end-to-end/jobs/job-runs.ts";
import { closeSharedEngines } from "../../test/end-to-end/jobs/shared-engines.ts";
import type { Table } from "../table.ts";
import { MARKETS, type MarketName } from "../warnings/warning-markets.ts";

const PANELS: readonly MarketName[] = ["demo", "linear", "noise"];

const RIDGE = { model: "ridge", model_params: { alpha: 300 }, scaler: "standard" };
const TREES = { n_estimators: 50, num_leaves: 4, learning_rate: 0.05, min_child_samples: 50 };
const POOLED = { fit: "pooled", target: "relative" };

/** Number 0 is the config itself; the others inherit from it. */
const CANDIDATES: Readonly<Record<string, object>> = {
  "ridge 300": {},
  "ridge 10000": { model_params: { alpha: 10_000 } },
  "lasso 0.001": { model: "lasso", model_params: { alpha: 0.001 } },
  lightgbm: { model: "lightgbm", scaler: "none", model_params: TREES },
  "pooled ridge": { ...POOLED, model_params: { alpha: 1_000 } },
  "pooled lightgbm": { ...POOLED, model: "lightgbm", scaler: "none", model_params: TREES },
};

const CHOICES: Readonly<Record<string, object>> = {
  mean: {},
  best: { rule: "best" },
  "mean by IC": { measure: "ic" },
};

/** Figures of one way to forecast, by job. */
interface Scored {
  /** Of score rows, which choose nothing. */
  readonly r2: number[];
  readonly ic: number[];
  /** What the output said beforehand, from its out-of-fold rows. */
  readonly claimed: number[];
  /** Whether `choice_is_noise` was absent. */
  readonly gained: boolean[];
}

/**
 * Candidates alone and chosen in one job, on prices of 20 US stocks (three windows), on a planted signal and on noise (five markets each):
 * R² and IC of the score rows. Takes about half an hour on two cores.
 */
export async function benchChoiceJobs(): Promise<readonly Table[]> {
  const tables: Table[] = [];
  try {
    for (const panel of PANELS) tables.push(await panelTable(panel));
  } finally {
    await closeSharedEngines();
  }
  return tables;
}

async function panelTable(panel: MarketName): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-choice-"));
  const scored = new Map<string, Scored>();
  try {
    const markets = await MARKETS[panel](folder);
    for (const [i, blobs] of markets.entries()) {
      for (const [name, config] of configs()) add(scored, name, await outputOf(blobs, config));
      process.stderr.write(`${panel}: ${i + 1} of ${markets.length}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return {
    title: `${panel}: means of ${scored.values().next().value!.r2.length} jobs, score rows`,
    header: ["", "R² %", "IC", "R² % of out-of-fold rows", "without choice_is_noise"],
    rows: [...scored].map(([name, { r2, ic, claimed, gained }]) => [
      name,
      (100 * mean(r2)).toFixed(2),
      mean(ic).toFixed(4),
      (100 * mean(claimed)).toFixed(2),
      gained.length === 0 ? "" : `${gained.filter((gain) => gain).length} of ${gained.length}`,
    ]),
  };
}

function configs(): readonly (readonly [name: string, params: object])[] {
  const [, ...others] = Object.values(CANDIDATES);
  return [
    ...Object.entries(CANDIDATES).map(([name, own]) => [name, { ...RIDGE, ...own }] as const),
    ...Object.entries(CHOICES).map(
      ([name, choice]) =>
        [`choice, ${name}`, { ...RIDGE, choice: { candidates: others, ...choice } }] as const,
    ),
  ];
}

async function outputOf(blobs: BlobPair, params: object): Promise<OutputBlob> {
  return (await runJob(blobs, JSON.stringify({ "ML params": params }), 2)).output;
}

function add(scored: Map<string, Scored>, name: string, { metrics, choice, warnings }: OutputBlob): void {
  const own = scored.get(name) ?? { r2: [], ic: [], claimed: [], gained: [] };
  scored.set(name, own);
  own.r2.push(metrics.score.pooled.r2_zero ?? Number.NaN);
  own.ic.push(metrics.score.cross_section.ic_mean ?? Number.NaN);
  own.claimed.push(metrics.out_of_fold?.pooled.r2_zero ?? Number.NaN);
  if (choice !== undefined) own.gained.push(warnings.every(({ code }) => code !== "choice_is_noise"));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
