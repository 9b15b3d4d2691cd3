import { formatDay, parseDay } from "../../contract/market/dates.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { type AuditCheck, notRun, ranCheck } from "../check.ts";
import { outputMember, outputParts, type ValueOf } from "../job/output-parts.ts";
import { BLOCK_DATES, MIN_BLOCKS } from "./permuted-skill.ts";
import { implausibleJob, judgeSkill } from "./skill-findings.ts";
import { MIN_FORECASTS, skillParts } from "./skill-parts.ts";

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
    const { score, outOfFold } = await readForecasts(whole.output, signal);
    const verdict = await outputMember(whole.output, "verdict", signal);
    const judge = (rows: readonly DatedForecasts[]) => skillParts(rows, permutations);
    const judged = [
      { place: "score", parts: await judge(score) },
      { place: "out_of_fold", parts: await judge(outOfFold) },
    ] as const;
    onStep?.(2, 2);
    const implausible = implausibleJob(verdict, accepted.has("implausible_job"));
    const found = judged.flatMap(({ place, parts }) =>
      parts === undefined ? [] : [{ place, parts, ...judgeSkill(place, parts, verdict) }],
    );
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

/** The forecasts of an output with their labels, one entry per ticker. */
interface OutputForecasts {
  readonly score: readonly DatedForecasts[];
  /** Empty for run_dl_job. */
  readonly outOfFold: readonly DatedForecasts[];
}

/** Reads the forecasts of an output on this machine. */
async function readForecasts(path: string, signal: AbortSignal): Promise<OutputForecasts> {
  const score: DatedForecasts[] = [];
  const outOfFold: DatedForecasts[] = [];
  for await (const { part, ticker, value } of outputParts(path, signal)) {
    if (part === "forecasts") score.push(forecastsOf(ticker, value));
    else if (part === "cross_validation") outOfFold.push(forecastsOf(ticker, value));
  }
  return { score, outOfFold };
}

/** With the model's own forecasts where shrinkage multiplied some by 0: they are the order that is judged. */
function forecastsOf(ticker: string, rows: ValueOf<"forecasts" | "cross_validation">): DatedForecasts {
  const { dates, predicted, realised } = rows;
  return {
    ticker,
    days: Int32Array.from(dates, (date) => parseDay(date)!),
    predicted: Float64Array.from(("model" in rows ? rows.model : undefined) ?? predicted),
    realised: Float64Array.from(realised, (label) => label ?? Number.NaN),
  };
}
