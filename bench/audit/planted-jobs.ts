/** Faults that only jobs can have, and forecasts without skill: each audit here runs jobs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditCheck } from "../../src/audit/check.ts";
import { checked } from "../../src/audit/checked.testing.ts";
import type { FindingCode } from "../../src/audit/findings.ts";
import type { AuditParts } from "../../src/audit/run-audit.ts";
import { skill } from "../../src/audit/skill/skill.ts";
import {
  centredForecasts,
  faultyOutput,
  LOOKING_AHEAD,
} from "../../src/audit/truncation/faulty-jobs.testing.ts";
import { truncation } from "../../src/audit/truncation/truncation.ts";
import { dataExtractorText, featureEngineText } from "../../src/prepare/blob-files.ts";
import { closeSharedEngines, openSharedEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import { seededRandom } from "../../test/twins/random.ts";
import { plantedMarket, writePlantedBlobs } from "../planted/planted-signals.ts";
import { cleanMarket, FIRST_SEED, type Market } from "./clean-markets.ts";

const CONFIG = '{"ML params":{"model":"ridge","n_splits":3,"intervals":{}}}';
const TICKERS = 3;
const MARKETS = 2;

interface JobFault {
  readonly check: AuditCheck;
  readonly codes: readonly FindingCode[];
  readonly parts: Pick<AuditParts, "jobs">;
}

export const JOB_FAULTS: Readonly<Record<string, JobFault>> = {
  "a job whose panel looks one row ahead": {
    check: truncation,
    codes: ["forecast_changed", "interval_changed"],
    parts: { jobs: LOOKING_AHEAD },
  },
  "forecasts of one ticker less their mean": {
    check: truncation,
    codes: ["forecast_changed"],
    parts: { jobs: centredForecasts("S01") },
  },
  "a fold's metric that knows the end": {
    check: truncation,
    codes: ["fold_changed"],
    parts: {
      jobs: faultyOutput(({ window, cross_validation }) => {
        cross_validation!.S01!.folds[1]!.rmse = Number(window.end.replaceAll("-", ""));
      }),
    },
  },
};

/** How often faults are found, and how often there is a false finding. */
export async function plantedInJobs(sizes: readonly number[]): Promise<readonly (readonly string[])[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-audit-"));
  try {
    const rows: string[][] = [];
    for (const [name, { check, codes, parts }] of Object.entries(JOB_FAULTS)) {
      const found: string[] = [];
      for (const days of sizes) found.push(await foundShare(folder, days, check, codes, parts));
      rows.push([name, check.name, codes.join(", "), ...found]);
    }
    for (const isShuffled of [true, false]) {
      const found: string[] = [];
      for (const days of sizes) found.push(await lacksSkill(folder, days, isShuffled));
      rows.push([
        isShuffled ? "labels shuffled by date" : "labels in place, which is no fault",
        "skill",
        "no_skill (note)",
        ...found,
      ]);
    }
    return rows;
  } finally {
    await closeSharedEngines();
    rmSync(folder, { recursive: true });
  }
}

async function foundShare(
  folder: string,
  days: number,
  check: AuditCheck,
  codes: readonly FindingCode[],
  parts: JobFault["parts"],
): Promise<string> {
  let found = 0;
  let others = 0;
  for (let seed = 1; seed <= MARKETS; seed++) {
    const market = cleanMarket(FIRST_SEED + 2_000 + seed, { tickers: TICKERS, days });
    const { findings } = await auditOf(folder, market, check, parts);
    const told = findings.map(({ code }) => code as FindingCode);
    if (codes.every((code) => told.includes(code))) found++;
    if (told.some((code) => !codes.includes(code))) others++;
  }
  return shareText(found, MARKETS, others);
}

export function shareText(found: number, of: number, others: number): string {
  return `${found} of ${of}${others === 0 ? "" : `, and ${others} others`}`;
}

/** Truncation on clean markets: how many had a finding. */
export async function falseFindingsOfJobs(markets: number, days: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-audit-"));
  try {
    let [found, tests] = [0, 0];
    for (let seed = 1; seed <= markets; seed++) {
      const market = cleanMarket(FIRST_SEED + 3_000 + seed, { tickers: TICKERS, days });
      const result = await auditOf(folder, market, truncation);
      if (result.findings.length > 0) found++;
      tests += result.tests;
    }
    return [`${TICKERS} tickers, ${days} dates`, "truncation", String(markets), String(found), String(tests)];
  } finally {
    await closeSharedEngines();
    rmSync(folder, { recursive: true });
  }
}

function auditOf(folder: string, market: Market, check: AuditCheck, parts: JobFault["parts"] = {}) {
  const blobs = writeBlobs(market, join(folder, "data"));
  const request = { ...blobs, config: CONFIG, id: "bench" };
  return checked(check, { request }, { openEngine: openSharedEngine }, parts);
}

function writeBlobs({ prices, features }: Market, folder: string) {
  mkdirSync(folder, { recursive: true });
  const dates = prices[0]!.days;
  const window = { start: dates[0]!, end: dates.at(-1)! };
  const [featureUrl, dataExtractorUrl] = ["feature_engine_1", "data_extractor_1"].map((name) =>
    join(folder, `${name}.json`),
  ) as [string, string];
  writeFileSync(featureUrl, [...featureEngineText(dates, features)].join(""));
  writeFileSync(dataExtractorUrl, [...dataExtractorText(window, dates, prices)].join(""));
  return { featureUrl, dataExtractorUrl };
}

const SKILL_MARKETS = 10;

/** How often a ridge lacks skill on markets with a signal, with and without shuffled label dates. */
async function lacksSkill(folder: string, days: number, isShuffled: boolean): Promise<string> {
  let [judged, noted] = [0, 0];
  for (let seed = 1; seed <= SKILL_MARKETS; seed++) {
    const market = plantedMarket("linear", FIRST_SEED + seed, { days, tickers: 5 });
    const order = shuffledDates(days, seed);
    const returns = isShuffled
      ? market.returns.map((own) => own.map((_, i) => own[order[i]!]!))
      : market.returns;
    const { featurePath, dataExtractorPath } = writePlantedBlobs([{ ...market, returns }], folder);
    const request = {
      featureUrl: featurePath,
      dataExtractorUrl: dataExtractorPath,
      config: CONFIG,
      id: "bench",
    };
    const { status, findings } = await checked(skill, { request }, { openEngine: openSharedEngine });
    if (status === "not_run") continue;
    judged++;
    if (findings.some(({ evidence }) => evidence.place === "score")) noted++;
  }
  return judged === 0 ? "too few dates" : shareText(noted, judged, 0);
}

function shuffledDates(n: number, seed: number): Int32Array {
  const random = seededRandom(seed);
  const keys = Float64Array.from({ length: n }, () => random.uniform());
  return Int32Array.from({ length: n }, (_, i) => i).sort((a, b) => keys[a]! - keys[b]!);
}
