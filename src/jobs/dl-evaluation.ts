import type { Warning } from "../contract/warnings.ts";
import { withoutResiduals } from "../evaluate/conformal.ts";
import type { IntervalChoice } from "../evaluate/score-bounds.ts";
import { type Evidence, evidenceOf, type ScoredTicker, scoreTicker } from "./evidence.ts";
import type { TrainedTicker } from "./planned-network.ts";

/** What the forecasts of networks are worth. */
export interface DlEvaluation {
  readonly tickers: readonly ScoredTicker[];
  readonly evidence: Evidence;
  readonly warnings: readonly Warning[];
}

/** Intervals, metrics and baselines of all tickers; the order given is kept. */
export function evaluateDl(trained: readonly TrainedTicker[], intervals: IntervalChoice): DlEvaluation {
  const scored = trained.map((ticker) => scoreTicker(ticker, intervals));
  const without = trained.filter(({ residuals }) => intervals && residuals.realised.length === 0);
  const tickers = scored.map((ticker) => ticker.scored);
  return {
    tickers,
    evidence: evidenceOf(tickers, intervals),
    warnings: [
      ...scored.flatMap(({ warnings }) => warnings),
      ...without.map(({ dates }) => withoutResiduals(dates.ticker)),
    ],
  };
}
