import { counted } from "../../contract/errors/wording.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { LEAST_DATES } from "../../evaluate/newey-west.ts";
import { isSkilled, type Skill, type SkillBaseline, skillOf } from "../../evaluate/skill.ts";
import type { Listed } from "./listed-warnings.ts";
import type { ScoredTicker } from "./score-tables.ts";

/** How the warning names what forecasts have to be better than, in the order of its sentence. */
const BASELINES = {
  zero: "0",
  mean: "the training mean",
} as const satisfies Record<SkillBaseline, string>;

const NAMES = Object.keys(BASELINES) as SkillBaseline[];

/**
 * The warning of forecasts that were not better by more than chance than 0, or than the mean of the labels that the model
 * learned from, over all tickers of a job.
 * @param tested the models' own forecasts of rows that they did not learn from, all labelled. Without a ticker there is no
 *   warning.
 * @param where these rows are, for the reader.
 */
export function* noSkill(tested: readonly ForecastRows[], where: string): Pausable<Warning[]> {
  if (tested.length === 0) return [];
  const skill = yield* skillOf(tested);
  const unproven = NAMES.filter((name) => !isSkilled(skill, name)).map((name) => BASELINES[name]);
  if (unproven.length === 0) return [];
  const message = `The forecasts were not shown to be better than ${unproven.join(" or ")} ${where}: ${foundIn(skill)}.`;
  return [{ code: "no_skill", message }];
}

/** What the dates say of each baseline, in the order of BASELINES. */
function foundIn({ dates, asked, t }: Skill): string {
  const given = counted(dates, "date");
  if (asked === null) {
    return `${given} ${dates === 1 ? "is" : "are"} too few to show it, and ${LEAST_DATES} are the fewest that can`;
  }
  const found = NAMES.map((name) => `${shownT(t[name])} against ${BASELINES[name]}`).join(" and ");
  return `${given} give ${found}, and ${asked.toFixed(3)} is asked of each`;
}

function shownT(t: number | null): string {
  if (t === null) return "no t";
  if (Number.isFinite(t)) return `a t of ${t.toFixed(2)}`;
  return t > 0 ? "equal gains" : "equal losses";
}

/** Lists the tickers whose forecasts are too large. */
export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}
