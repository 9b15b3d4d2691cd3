import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeSharedEngines } from "../../test/end-to-end/jobs/shared-engines.ts";
import type { Table } from "../table.ts";
import { magnifiedTable } from "./magnified-forecasts.ts";
import { plantedPricesTable } from "./planted-prices.ts";
import { shrinkageBenchTable } from "./shrinkage-table.ts";
import { skillPowerTable } from "./skill-power.ts";
import { CODES, type Code, MODELS, type WarnedJob, warnedJob } from "./warned-jobs.ts";
import { MARKETS, type MarketName } from "./warning-markets.ts";

const NAMES = Object.keys(MARKETS) as MarketName[];

/** Warnings that depend as much on the model as on the market. */
const BY_MODEL: readonly Code[] = ["chosen_early", "no_skill", "oversized", "wild_forecast"];

type WarnedJobs = Readonly<Record<MarketName, readonly WarnedJob[]>>;

/** Size and power of `no_skill`, and the effect of shrinkage. Takes about half an hour on one idle core; does not depend on the machine. */
export function benchNoSkill(): readonly Table[] {
  return [shrinkageBenchTable(), skillPowerTable()];
}

/** How often each warning occurs, on four markets. Takes about eight minutes on two idle cores. */
export async function benchWarnings(): Promise<readonly Table[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-warnings-"));
  try {
    const jobs: Record<MarketName, WarnedJob[]> = { demo: [], weekly: [], noise: [], linear: [] };
    for (const market of NAMES) {
      const own = join(folder, market);
      mkdirSync(own);
      for (const blobs of await MARKETS[market](own)) {
        for (const model of Object.keys(MODELS)) {
          const job = await warnedJob(blobs, model);
          jobs[market].push(job);
          const listed = [...job.listed].map(([code, count]) => `${code} ${count}`);
          process.stderr.write(`${market}, ${model}: ${listed.join(", ")}\n`);
        }
      }
    }
    return [
      byMarket(jobs),
      ...BY_MODEL.map((code) => byModel(code, jobs)),
      magnifiedTable(),
      await plantedPricesTable(),
    ];
  } finally {
    await closeSharedEngines();
    rmSync(folder, { recursive: true });
  }
}

function byMarket(jobs: WarnedJobs): Table {
  return {
    title: "jobs with a warning of those that could have it; tickers that it lists of theirs",
    header: ["", ...NAMES],
    rows: CODES.map((code) => [code, ...NAMES.map((market) => share(code, jobs[market]))]),
  };
}

/** Only the models that could have it. */
function byModel(code: Code, jobs: WarnedJobs): Table {
  const models = Object.keys(MODELS).filter((model) => share(code, of(model, jobs.demo)) !== NONE);
  return {
    title: `${code}, by model`,
    header: ["", ...NAMES],
    rows: models.map((model) => [model, ...NAMES.map((market) => share(code, of(model, jobs[market])))]),
  };
}

function of(model: string, jobs: readonly WarnedJob[]): readonly WarnedJob[] {
  return jobs.filter((job) => job.model === model);
}

const NONE = "-";

function share(code: Code, all: readonly WarnedJob[]): string {
  const jobs = all.filter((job) => listable(code, job) > 0);
  if (jobs.length === 0) return NONE;
  const warned = jobs.filter(({ listed }) => listed.has(code));
  const share = `${warned.length} / ${jobs.length}`;
  if (code === "no_skill" || code === "oversized") return share;
  const listed = sum(warned.map((job) => job.listed.get(code)!));
  return `${share}; ${listed} / ${sum(jobs.map((job) => listable(code, job)))}`;
}

/** The number of tickers, or networks, of a job that a warning could list. */
function listable(code: Code, { model, tickers, networks }: WarnedJob): number {
  if (code === "chosen_early") return networks;
  if (code === "unscaled_features" && model !== "ridge, no scaler") return 0;
  return tickers;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
