import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { recordedPanelSettings } from "../../contract/config/panel-settings.ts";
import {
  type RefitSettings,
  recordedRefitSettings,
  recordsRefits,
  refitSettings,
} from "../../contract/config/refit-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { blockFactors } from "../../evaluate/block-factors.ts";
import { blockSkills } from "../../evaluate/block-skill.ts";
import { withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import { withLevels } from "../../evaluate/levels.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { type ChoiceResult, choiceOf } from "../shared/choice/choice-result.ts";
import { type DocumentParts, jobDocument, plain, recordedIntervals } from "../shared/job-document.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import { type EvaluatedBlock, refitBlocksOf, tickerRefitsOf } from "../shared/refits-output.ts";
import {
  type Exposures,
  type HeldOutSet,
  hasZeroFactor,
  levelTickers,
  type ScoredTicker,
  type ScoreSettings,
  type ScoreTables,
  scoreTables,
  scoreTicker,
} from "../shared/score-tables.ts";
import { negativeSlope, verdictWarnings } from "../shared/ticker-warnings.ts";
import type { TrainingRecord } from "./ensemble.ts";
import type { TrainedTicker } from "./planned-network.ts";
import { blockTrainingOf, type TrainOutcome } from "./trained-blocks.ts";

/** The forecasts of one ticker, with their intervals. */
interface EvaluatedTicker extends ScoredTicker {
  readonly trained: TrainedTicker;
}

interface DlEvaluation {
  readonly tickers: readonly EvaluatedTicker[];
  readonly tables: ScoreTables;
  /** One entry per block; empty if neither refits nor a window were requested. */
  readonly blocks: readonly EvaluatedBlock[];
  /** Warnings about the intervals and the forecasts. */
  readonly warnings: readonly Warning[];
}

/**
 * Intervals, metrics, baselines and the quality of the forecasts of all tickers, in the given order.
 * @param asOf the date of the forecasts.
 */
export function evaluateDl(
  trained: readonly TrainedTicker[],
  settings: ScoreSettings & RefitSettings,
  asOf: Day,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  exposures?: Exposures,
): DlEvaluation {
  const { intervals } = settings;
  const held = trained.map((ticker) => ({ ...ticker, ...heldOutRows(ticker) }));
  const { levels, levelled } = levelTickers(held);
  const factors = blockFactors(settings.shrinkage, levelled, blocks);
  const hasZero = hasZeroFactor(factors, trained);
  const tickers: EvaluatedTicker[] = [];
  for (const [i, ticker] of trained.entries()) {
    const { ticker: name, calibration, models } = ticker;
    const parts = models.map((model) => ({ ...model, factor: factors[model.block]!.byTicker.get(name)! }));
    const residuals = withLevels(calibration, levels.heldOut);
    const facts = { ...ticker, ...levelled[i]!, residuals, parts, hasZero };
    tickers.push({ ...scoreTicker(facts, settings, asOf), trained: ticker });
  }
  // `late_ticker` reports the others.
  const without = trained.filter(
    ({ calibration, joins }) => intervals && calibration.days.length === 0 && joins === undefined,
  );
  const tables = scoreTables(tickers, settings, judgedRows(trained), levels, exposures);
  const starts = blocks.map(({ from }) => from);
  const scored = tickers.map(({ score }) => score);
  const isTold = recordsRefits(settings) && trained.length > 0;
  const skills = isTold ? blockSkills(scored, starts) : [];
  const warnings = [
    ...tickers.flatMap((ticker) => ticker.warnings),
    ...without.map(({ ticker }) => withoutResiduals(ticker)),
    ...negativeSlope(factors),
    ...verdictWarnings(tables, settings.shrinkage),
  ];
  return {
    tickers,
    tables,
    blocks: skills.map((skill, b) => ({ ...skill, start: starts[b]!, factors: factors[b]!.byTicker })),
    warnings,
  };
}

/** With the levels that they start from. */
function heldOutRows({ validation, calibration }: TrainedTicker) {
  const heldOut = calibration.days.length > 0 ? calibration : validation;
  return { heldOut, spans: heldOut.spans };
}

/** The calibration part if there is one: the validation part chose the epochs. */
function judgedRows(trained: readonly TrainedTicker[]): HeldOutSet {
  const calibrated = trained.map(({ calibration }) => calibration).filter(({ days }) => days.length > 0);
  if (calibrated.length > 0) return { rows: "calibration", forecasts: calibrated };
  return { rows: "validation", forecasts: trained.map(({ validation }) => validation) };
}

/** The contents of the output blob of run_dl_job. */
type DlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "tags" | "provenance" | "machine"
> & {
  readonly settings: DlSettings;
  readonly evaluation: DlEvaluation;
  readonly training: ReadonlyMap<string, TrainingRecord>;
  /** For a joint network, by block: the number of rows that it learned from. */
  readonly blockRows?: readonly number[];
  /** How the networks of each block were trained. */
  readonly blockTraining?: TrainOutcome["blockTraining"];
  /** Present if the job tried several candidates. */
  readonly choice?: ChoiceResult | undefined;
};

/** The output blob of run_dl_job. */
export function dlOutput({
  settings,
  evaluation,
  training,
  blockRows = [],
  blockTraining = new Map(),
  choice,
  ...parts
}: DlOutputParts): OrderedJson {
  return jobDocument({
    ...parts,
    operation: "run_dl_job",
    tickers: evaluation.tickers,
    fits: evaluation.tickers.map(({ trained }) => ({ ...trained, labels: trained.fitLabels })),
    fitting: {
      ...(evaluation.blocks.length === 0
        ? {}
        : { refits: refitsOf(evaluation, settings, { blockRows, blockTraining }) }),
      ...(choice === undefined ? {} : { choice: choiceOf(choice, candidateSettings(settings)) }),
      training: plain(training),
    },
    tables: evaluation.tables,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: modelOf(settings),
  });
}

function refitsOf(
  { blocks, tickers }: DlEvaluation,
  settings: DlSettings,
  { blockRows, blockTraining }: Pick<TrainOutcome, "blockRows" | "blockTraining">,
): OrderedJson {
  const trained = tickers.map((ticker) => ticker.trained);
  return {
    blocks: refitBlocksOf(blocks, trained, blockRows),
    by_ticker: new Map(
      trained.map((ticker) => [ticker.ticker, () => tickerRefitsOf(ticker, blocks, settings)]),
    ),
    training: new Map(
      [...blockTraining].map(([name, own]) => [name, () => blockTrainingOf(own, blocks.length)]),
    ),
  };
}

function candidateSettings({ choice }: DlSettings): OrderedJson[] {
  return choice?.candidates.map((candidate) => modelOf(candidate.settings)) ?? [];
}

/** The resolved configuration in the sections of the request: what was trained, with every default filled in. */
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
    delay,
    target,
    crossSection,
    refitEvery,
    window,
    ...rest
  } = settings;
  // The first two are derived from the others; the member `choice` of the output records the third.
  const { joint: _, calibrates: __, choice: ___, ...unrecorded } = rest;
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
      ...(monitor === "loss" ? {} : { monitor }), // Omitted if unset, so that older outputs stay the same.
    },
    model_params: plain(params),
    intervals: recordedIntervals(intervals),
    shrinkage,
    ...recordedPanelSettings({ delay, target, crossSection }),
    ...recordedRefitSettings(refitSettings(refitEvery, window)),
  };
}
