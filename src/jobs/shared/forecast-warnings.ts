import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { Listed } from "./listed-warnings.ts";
import type { ScoredTicker, ScoreTables } from "./score-tables.ts";

/**
 * The warning that follows from the verdict of a job: its forecasts show no skill, or they show some and are too large. On rows before the
 * score rows, the verdict judges the models' own forecasts, so shrinkage corrects their size.
 */
export function verdictWarnings(
  { verdict, shrinkage }: Pick<ScoreTables, "verdict" | "shrinkage">,
  choice: ShrinkageChoice,
): Warning[] {
  if (verdict === undefined) return [];
  const { state, rows, sentence } = verdict;
  if (state === "skill") return [];
  if (state !== "oversized") return [{ code: "no_skill", message: sentence }];
  if (choice !== "none" && rows !== "score") return [];
  const cure =
    choice === "none"
      ? pooledCure(shrinkage.by_date.s)
      : `They are too large although shrinkage is ${choice}.`;
  return [{ code: "oversized", message: `${sentence} ${cure}` }];
}

/** Two digits round factors above this to 1, which would change nothing. */
const MAX_FACTOR = 0.99;

/** @param factor that `pooled` would multiply every forecast by; 0 and 1 correct nothing. */
function pooledCure(factor: number): string {
  if (factor === 0) {
    return "Rank by mu: the held-out rows support no size, so shrinkage pooled would set every forecast to 0.";
  }
  if (factor === 1) {
    return "Rank by mu: the sizes were right on the held-out rows, so shrinkage pooled would change nothing.";
  }
  return `Set shrinkage to pooled: it multiplies every forecast by ${Math.min(MAX_FACTOR, Number(factor.toPrecision(2)))} and keeps their order.`;
}

/** Lists the tickers whose forecasts are too large. */
export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}
