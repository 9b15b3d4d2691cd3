import type { Pausable } from "../contract/pausable.ts";
import type { Warning } from "../contract/warnings.ts";
import { withoutResiduals } from "../evaluate/conformal.ts";
import type { IntervalChoice } from "../evaluate/score-bounds.ts";
import { type Evidence, evaluationUnits, evidenceOf, type ScoredTicker, scoreTicker } from "./evidence.ts";
import type { TrainedTicker } from "./planned-network.ts";

/** What the forecasts of networks are worth. */
export interface DlEvaluation {
  readonly tickers: readonly ScoredTicker[];
  readonly evidence: Evidence;
  readonly warnings: readonly Warning[];
}

/** Intervals, metrics and baselines of all tickers; the order given is kept. */
export function* evaluateDl(
  trained: readonly TrainedTicker[],
  intervals: IntervalChoice,
): Pausable<DlEvaluation> {
  const tickers: ScoredTicker[] = [];
  const warnings: Warning[] = [];
  for (const ticker of trained) {
    const { scored, warnings: about } = scoreTicker(ticker, intervals);
    tickers.push(scored);
    warnings.push(...about);
    yield 1;
  }
  const without = trained.filter(({ residuals }) => intervals && residuals.realised.length === 0);
  warnings.push(...without.map(({ dates }) => withoutResiduals(dates.ticker)));
  return { tickers, evidence: yield* evidenceOf(tickers, intervals), warnings };
}

/** What `evaluateDl` counts. */
export function dlEvaluationUnits(tickers: number): number {
  return evaluationUnits(tickers, 1);
}
