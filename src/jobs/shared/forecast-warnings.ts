import type { ShrinkageChoice } from "../../contract/config/shrinkage.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { Listed } from "./listed-warnings.ts";
import type { ScoredTicker, ScoreTables } from "./score-tables.ts";

/**
 * The warning that the verdict of a job calls for: that its forecasts show no skill, or that they show some and are too large. On rows
 * before the score rows the verdict judges the models' own forecasts, so shrinkage makes up for their size.
 */
export function verdictWarnings({ verdict, shrinkage }: ScoreTables, choice: ShrinkageChoice): Warning[] {
  if (verdict === undefined) return [];
  const { state, rows, sentence } = verdict;
  if (state === "skill") return [];
  if (state !== "oversized") return [{ code: "no_skill", message: sentence }];
  if (choice !== "none" && rows !== "score") return [];
  const factor = `${Number(shrinkage.by_date.s.toPrecision(2))}`;
  const cure =
    choice === "none"
      ? `Set shrinkage to pooled: it multiplies every forecast by ${factor} and keeps their order.`
      : `They are too large although shrinkage is ${choice}.`;
  return [{ code: "oversized", message: `${sentence} ${cure}` }];
}

/** Lists the tickers whose forecasts are too large. */
export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}
