import { counted } from "../../contract/errors/wording.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { SKILLED_T, skillOf } from "../../evaluate/skill.ts";
import type { Listed } from "./listed-warnings.ts";
import type { ScoredTicker } from "./score-tables.ts";

/**
 * The warning of forecasts that were not better than 0 by more than chance, over all tickers of a job.
 * @param tested the models' own forecasts of rows that they did not learn from, all labelled. Without a ticker there is no
 *   warning.
 * @param where these rows are, for the reader.
 */
export function* noSkill(tested: readonly DatedForecasts[], where: string): Pausable<Warning[]> {
  if (tested.length === 0) return [];
  const { t, dates } = yield* skillOf(tested);
  if (t !== null && t >= SKILLED_T) return [];
  const found =
    t === null
      ? `${counted(dates, "date")} ${dates === 1 ? "gives" : "give"} no t`
      : `the t of what they gained is ${t.toFixed(2)} over ${counted(dates, "date")}`;
  return [
    {
      code: "no_skill",
      message: `The forecasts were not shown to be better than 0 ${where}: ${found}, and ${SKILLED_T} is asked.`,
    },
  ];
}

/** Lists the tickers whose forecasts are too large. */
export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}
