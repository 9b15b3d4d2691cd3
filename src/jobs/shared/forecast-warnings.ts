import { counted } from "../../contract/errors/wording.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { isSkilled, SKILLED_T, type SkillBaseline, skillOf } from "../../evaluate/skill.ts";
import type { Listed } from "./listed-warnings.ts";
import type { ScoredTicker } from "./score-tables.ts";

/** How the warning names what forecasts have to be better than, in the order of its sentence. */
const BASELINES = {
  zero: "0",
  mean: "the training mean",
} as const satisfies Record<SkillBaseline, string>;

/**
 * The warning of forecasts that were not better by more than chance than 0, or than the mean of the labels that the model
 * learned from, over all tickers of a job.
 * @param tested the models' own forecasts of rows that they did not learn from, all labelled. Without a ticker there is no
 *   warning.
 * @param where these rows are, for the reader.
 */
export function* noSkill(tested: readonly ForecastRows[], where: string): Pausable<Warning[]> {
  if (tested.length === 0) return [];
  const { t, dates } = yield* skillOf(tested);
  const names = Object.keys(BASELINES) as SkillBaseline[];
  const unproven = names.filter((name) => !isSkilled(t[name])).map((name) => BASELINES[name]);
  if (unproven.length === 0) return [];
  const found = names.map((name) => `${shownT(t[name])} against ${BASELINES[name]}`).join(" and ");
  return [
    {
      code: "no_skill",
      message:
        `The forecasts were not shown to be better than ${unproven.join(" or ")} ${where}: ` +
        `${counted(dates, "date")} ${dates === 1 ? "gives" : "give"} ${found}, and ${SKILLED_T} is asked of each.`,
    },
  ];
}

function shownT(t: number | null): string {
  return t === null ? "no t" : `a t of ${t.toFixed(2)}`;
}

/** Lists the tickers whose forecasts are too large. */
export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}
