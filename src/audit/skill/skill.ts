import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inTurns } from "../../contract/machine/pausable.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { runDlJob } from "../../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../jobs/ml/run-ml-job.ts";
import { openWorkFolder } from "../../jobs/shared/work-folder.ts";
import {
  type AuditCheck,
  type AuditContext,
  type AuditInputs,
  type CheckResult,
  type Finding,
  notRun,
  ranCheck,
} from "../check.ts";
import { finding } from "../findings.ts";
import { auditedConfig } from "../truncation/audited-config.ts";
import { BLOCK_DATES, LEAST_BLOCKS } from "./block-permutations.ts";
import { readForecasts } from "./forecast-rows.ts";
import { type PermutedSkill, permutedSkill } from "./permuted-skill.ts";

const JOBS = { run_ml_job: runMlJob, run_dl_job: runDlJob };

/** Runs the job once and asks whether chance gives its forecasts as high an information coefficient. */
export const skill: AuditCheck = {
  name: "skill",
  cost: ({ quick }) => `one job${quick ? " of the quick model" : ""}`,
  async run(inputs, context) {
    const work = openWorkFolder();
    try {
      const output = await runJob(inputs, context, join(work.path, "skill"));
      context.onStep?.(1, 2);
      const { score, outOfFold } = await readForecasts(output, context.signal);
      const judge = (rows: readonly DatedForecasts[]) =>
        inTurns(permutedSkill(rows, inputs.permutations), context.signal);
      const judged = { score: await judge(score), out_of_fold: await judge(outOfFold) };
      context.onStep?.(2, 2);
      return resultOf(judged);
    } finally {
      work.remove();
    }
  },
};

/** @returns the path of the output. */
async function runJob(
  { operation, request, quick }: AuditInputs,
  context: AuditContext,
  folder: string,
): Promise<string> {
  const config = auditedConfig(request.config, operation, quick);
  const job = { ...request, config, blobUrl: folder, id: "audit" };
  const { output_url } = await JOBS[operation](job, { ...context, report: () => undefined });
  return fileURLToPath(output_url);
}

type Judged = Readonly<Record<"score" | "out_of_fold", PermutedSkill | undefined>>;

/** Chance gives forecasts without skill a p this small once in twenty audits; 19 permutations reach it. */
const NO_SKILL_ABOVE = 0.05;

const PLACES = { score: "on the score rows", out_of_fold: "out of fold" };

function resultOf(judged: Judged): CheckResult {
  const found = (["score", "out_of_fold"] as const).flatMap((place) => {
    const skill = judged[place];
    return skill === undefined ? [] : [{ place, skill }];
  });
  if (found.length === 0) {
    return notRun(
      `forecasts with labels of 3 tickers and more on over ${(LEAST_BLOCKS - 1) * BLOCK_DATES} dates are needed, out of fold or after the cut`,
    );
  }
  return ranCheck({
    tests: found.reduce((sum, { skill }) => sum + skill.permutations, 0),
    findings: found.flatMap(({ place, skill }) =>
      skill.p > NO_SKILL_ABOVE ? [lack(PLACES[place], skill)] : [],
    ),
    facts: Object.fromEntries(found.map(({ place, skill }) => [place, figures(skill)])),
  });
}

function lack(place: string, skill: PermutedSkill): Finding {
  return finding("no_skill", {
    message: `The IC of ${skill.icMean.toFixed(4)} ${place} is number ${skill.rank} of ${skill.permutations + 1}, among those of the same forecasts against permuted labels (p ${skill.p.toFixed(2)}).`,
    evidence: figures(skill),
  });
}

function figures(skill: PermutedSkill): AuditFacts {
  return {
    ic_mean: skill.icMean,
    ic_t: skill.icT,
    dates: skill.dates,
    rank: skill.rank,
    permutations: skill.permutations,
    p: skill.p,
    highest_permuted: skill.highestPermuted,
  };
}
