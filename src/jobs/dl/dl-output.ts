import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import { withoutResiduals } from "../../evaluate/conformal.ts";
import type { IntervalChoice } from "../../evaluate/score-bounds.ts";
import { type DocumentParts, jobDocument, plain, recordedIntervals } from "../shared/job-document.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import {
  type Evidence,
  evaluationUnits,
  evidenceOf,
  type ScoredTicker,
  scoreTicker,
} from "../shared/score-tables.ts";
import type { TrainedTicker } from "./planned-network.ts";
import type { TrainingRecord } from "./train-stacks.ts";

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

/** What the output blob of run_dl_job is made of. */
export type DlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "provenance"
> & {
  readonly settings: DlSettings;
  readonly evaluation: DlEvaluation;
  readonly training: ReadonlyMap<string, TrainingRecord>;
};

/** The output blob of run_dl_job. */
export function dlOutput({ settings, evaluation, training, ...parts }: DlOutputParts): OrderedJson {
  return jobDocument({
    ...parts,
    operation: "run_dl_job",
    tickers: evaluation.tickers,
    making: { training: plain(training) },
    evidence: evaluation.evidence,
    intervals: settings.intervals,
    model: modelOf(settings),
  });
}

/** The resolved configuration in the sections of the request: what was trained, every default filled in. */
function modelOf(settings: DlSettings): OrderedJson {
  const { architecture, ...params } = settings.network;
  const { batch_size, loss, ...training } = settings.training;
  return {
    model: architecture,
    status: settings.enabled,
    global_settings: { device: settings.device, seed: settings.seed },
    data_processing: { scaler: settings.scaler, lookback: settings.lookback, batch_size },
    training_params: { ...training, loss_type: loss },
    model_params: plain(params),
    intervals: recordedIntervals(settings.intervals),
  };
}
