import { formatDay, parseDay } from "../../contract/market/dates.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { type AuditCheck, notRun, ranCheck } from "../check.ts";
import { outputMember, outputParts, type ValueOf } from "../job/output-parts.ts";
import { implausibleJob, judgeSkill } from "./skill-findings.ts";
import { BLOCK_DATES, MIN_BLOCKS, MIN_FORECASTS, skillParts } from "./skill-parts.ts";

/**
 * Tests whether chance gives the job's forecasts as high an information coefficient, through lasting differences between tickers and
 * through changes over time, and whether the job's own figure is plausible for daily data. The model is not fitted again to permuted
 * labels: docs/audit.md says why.
 */
export const skill: AuditCheck = {
  name: "skill",
  cost: ({ quick }, others) =>
    others.includes("truncation")
      ? "no additional job: truncation runs it on the whole blobs"
      : `one job${quick ? " with the quick model" : ""}`,
  async run({ permutations, accepted }, { job, onStep, signal }) {
    const whole = await job.whole();
    if ("reason" in whole) return notRun(whole.reason);
    onStep?.(1, 2);
    const rows = { score: [] as DatedForecasts[], out_of_fold: [] as DatedForecasts[] };
    for await (const { part, ticker, value } of outputParts(whole.output, signal)) {
      if (part === "forecasts") rows.score.push(datedForecasts(ticker, value));
      else if (part === "cross_validation") rows.out_of_fold.push(datedForecasts(ticker, value));
    }
    const verdict = await outputMember(whole.output, "verdict", signal);
    const implausible = implausibleJob(verdict, accepted.has("implausible_job"));
    const found = (["score", "out_of_fold"] as const).flatMap((place) => {
      const parts = skillParts(rows[place], permutations);
      return parts === undefined ? [] : [{ place, parts, ...judgeSkill(place, parts, verdict) }];
    });
    onStep?.(2, 2);
    if (found.length === 0 && implausible.length === 0) {
      return notRun(
        `needs more than ${MIN_FORECASTS + (MIN_BLOCKS - 1) * BLOCK_DATES} dates with labelled forecasts of at least 3 tickers, out of fold or after the cut`,
      );
    }
    const { learningEnd, isChosen } = whole.plan;
    return ranCheck({
      tests: found.reduce((sum, { parts }) => sum + parts.timing.permutations + 1, 0),
      findings: [...implausible, ...found.flatMap(({ findings }) => findings)],
      facts: {
        learning_end: formatDay(learningEnd),
        learning_end_chosen: isChosen,
        ...Object.fromEntries(found.map(({ place, facts }) => [place, facts])),
      },
    });
  },
};

/** With the model's own forecasts where shrinkage multiplied some by 0: they are the order that is judged. */
function datedForecasts(ticker: string, rows: ValueOf<"forecasts" | "cross_validation">): DatedForecasts {
  const { dates, predicted, realised } = rows;
  return {
    ticker,
    days: Int32Array.from(dates, (date) => parseDay(date)!),
    predicted: Float64Array.from(("model" in rows ? rows.model : undefined) ?? predicted),
    realised: Float64Array.from(realised, (label) => label ?? Number.NaN),
  };
}
