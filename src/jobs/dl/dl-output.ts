import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { recordedPanelSettings } from "../../contract/config/panel-settings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import { shrinkageFactors } from "../../evaluate/shrinkage.ts";
import { mean } from "../../evaluate/statistics.ts";
import { verdictWarnings } from "../shared/forecast-warnings.ts";
import { type DocumentParts, jobDocument, plain, recordedIntervals } from "../shared/job-document.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import {
  evaluationUnits,
  type HeldOutRows,
  type ScoredTicker,
  type ScoreSettings,
  type ScoreTables,
  scoreTables,
  scoreTicker,
} from "../shared/score-tables.ts";
import type { TrainingRecord } from "./ensemble.ts";
import type { TrainedTicker } from "./planned-network.ts";

/** The forecasts of one ticker, with their intervals. */
interface EvaluatedTicker extends ScoredTicker {
  readonly trained: TrainedTicker;
}

interface DlEvaluation {
  readonly tickers: readonly EvaluatedTicker[];
  readonly tables: ScoreTables;
  /** Of the intervals and of the forecasts. */
  readonly warnings: readonly Warning[];
}

/**
 * Intervals, metrics, baselines and the worth of the forecasts of all tickers; the order given is kept.
 * @param asOf the date of the forecasts.
 */
export function* evaluateDl(
  trained: readonly TrainedTicker[],
  settings: ScoreSettings,
  asOf: Day,
): Pausable<DlEvaluation> {
  const { intervals } = settings;
  const heldOut = trained.map(heldOutRows);
  const factors = yield* shrinkageFactors(settings.shrinkage, heldOut);
  const tickers: EvaluatedTicker[] = [];
  for (const [i, ticker] of trained.entries()) {
    const { calibration } = ticker;
    const factor = factors.get(ticker.ticker)!;
    const labelMean = mean(ticker.fitLabels);
    const parts = [{ from: 0, to: ticker.score.days.length, labelMean, factor }];
    const facts = { ...ticker, heldOut: heldOut[i]!, residuals: calibration, parts };
    tickers.push({ ...(yield* scoreTicker(facts, settings, asOf)), trained: ticker });
    yield 1;
  }
  const without = trained.filter(({ calibration }) => intervals && calibration.days.length === 0);
  const tables = yield* scoreTables(tickers, intervals, judgedRows(trained));
  const warnings = [
    ...tickers.flatMap((ticker) => ticker.warnings),
    ...without.map(({ ticker }) => withoutResiduals(ticker)),
    ...verdictWarnings(tables, settings.shrinkage),
  ];
  return { tickers, tables, warnings };
}

function heldOutRows({ validation, calibration }: TrainedTicker): ForecastRows {
  return calibration.days.length > 0 ? calibration : validation;
}

/** The calibration part where there is one: the validation part chose the epochs. */
function judgedRows(trained: readonly TrainedTicker[]): HeldOutRows {
  const calibrated = trained.map(({ calibration }) => calibration).filter(({ days }) => days.length > 0);
  if (calibrated.length > 0) return { rows: "calibration", forecasts: calibrated };
  return { rows: "validation", forecasts: trained.map(({ validation }) => validation) };
}

/** The units of progress of `evaluateDl`. */
export function dlEvaluationUnits(tickers: number): number {
  return evaluationUnits(tickers, 1);
}

/** What the output blob of run_dl_job is made of. */
type DlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "provenance" | "machine"
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
    fits: evaluation.tickers.map(({ trained }) => ({ ...trained, labels: trained.fitLabels })),
    fitting: { training: plain(training) },
    tables: evaluation.tables,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: modelOf(settings),
  });
}

/** The resolved configuration in the sections of the request: what was trained, every default filled in. */
function modelOf(settings: DlSettings): OrderedJson {
  const {
    enabled,
    network,
    training,
    ensemble,
    scaler,
    lookback,
    device,
    seed,
    intervals,
    shrinkage,
    target,
    crossSection,
    ...rest
  } = settings;
  const { joint: _, ...unrecorded } = rest; // It follows from the network.
  unrecorded satisfies Record<string, never>; // A new setting does not compile until it is recorded here.
  const { architecture, ...params } = network;
  const { batch_size, loss, monitor, ...trainingParams } = training;
  return {
    model: architecture,
    status: enabled,
    global_settings: { device, seed },
    data_processing: { scaler, lookback, batch_size },
    training_params: {
      ...trainingParams,
      loss_type: loss,
      ensemble,
      ...(monitor === "loss" ? {} : { monitor }), // So that an output without it is what it was before it existed.
    },
    model_params: plain(params),
    intervals: recordedIntervals(intervals),
    shrinkage,
    ...recordedPanelSettings({ target, crossSection }),
  };
}
