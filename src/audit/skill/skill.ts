import { inTurns } from "../../contract/machine/pausable.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { type AuditCheck, type CheckResult, type Finding, notRun, ranCheck } from "../check.ts";
import { finding } from "../findings.ts";
import type { CutPlan } from "../job/cut-plan.ts";
import { BLOCK_DATES, LEAST_BLOCKS } from "./block-permutations.ts";
import { readForecasts } from "./forecast-rows.ts";
import { type PermutedSkill, permutedSkill } from "./permuted-skill.ts";

/**
 * Asks whether chance gives the job's forecasts as high an information coefficient. The model is not fitted again to permuted
 * labels: docs/audit.md says why.
 */
export const skill: AuditCheck = {
  name: "skill",
  cost: ({ quick }, others) =>
    others.includes("truncation")
      ? "no job more: that of truncation on the whole blobs"
      : `one job${quick ? " of the quick model" : ""}`,
  async run({ permutations }, { job, onStep, signal }) {
    const whole = await job.whole();
    if ("reason" in whole) return notRun(whole.reason);
    onStep?.(1, 2);
    const { score, outOfFold } = await readForecasts(whole.output, signal);
    const judge = (rows: readonly DatedForecasts[]) => inTurns(permutedSkill(rows, permutations), signal);
    const judged = { score: await judge(score), out_of_fold: await judge(outOfFold) };
    onStep?.(2, 2);
    return resultOf(judged, whole.plan);
  },
};

type Judged = Readonly<Record<"score" | "out_of_fold", PermutedSkill | undefined>>;

/** Chance gives forecasts without skill a p this small once in twenty audits; 19 permutations reach it. */
const NO_SKILL_ABOVE = 0.05;

const PLACES = { score: "on the score rows", out_of_fold: "out of fold" };

function resultOf(judged: Judged, { learningEnd, isChosen }: CutPlan): CheckResult {
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
    findings: found.flatMap(({ place, skill }) => (skill.p > NO_SKILL_ABOVE ? [lack(place, skill)] : [])),
    facts: {
      learning_end: formatDay(learningEnd),
      learning_end_chosen: isChosen,
      ...Object.fromEntries(found.map(({ place, skill }) => [place, figures(skill)])),
    },
  });
}

function lack(place: keyof Judged, skill: PermutedSkill): Finding {
  return finding("no_skill", {
    message: `The IC of ${skill.icMean.toFixed(4)} ${PLACES[place]} is number ${skill.rank} of ${skill.permutations + 1}, among those of the same forecasts against permuted labels (p ${skill.p.toFixed(2)}).`,
    evidence: { place, ...figures(skill) },
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
