import { join } from "node:path";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type ArrayRef, writeNpy } from "../../engine/npy.ts";
import type { SampleParts, TrainJointTask, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { trainingMeans } from "../../evaluate/baselines.ts";
import { deviation, mean, rootMeanSquare } from "../../evaluate/statistics.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import { fitLabels, forecastReturns, type PanelRows, targetsOf } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import {
  type DateSpan,
  type HeldOutPart,
  type ModelledTicker,
  rowFacts,
  type ScoreModel,
  type ScoreRows,
} from "../shared/modelled-ticker.ts";
import type { FitPanel as PanelOnDisk } from "../shared/panels.ts";

/** One network to be trained, for one ticker or for all. */
export interface PlannedNetwork {
  /** Its ticker, or `portfolio`. */
  readonly name: string;
  /** Whether it is one network for all tickers: if that fails in the first block, the job fails. */
  readonly joint: boolean;
  /** The block of score rows that it forecasts, from 0. */
  readonly block: number;
  /** Whether no network of its name is trained for an earlier block. */
  readonly isFirst: boolean;
  /** Whether it is the network of an earlier block, trained once more because the network of its own block failed. */
  readonly isStandIn: boolean;
  /** The tickers that have a score window in its block. */
  readonly tickers: readonly string[];
  /** The tickers whose first network it is, which reports the facts of their rows; they may have no score window in its block. */
  readonly begins: ReadonlySet<string>;
  /** How many numbers it reads in an epoch; the largest networks are started first. */
  readonly size: number;
  /** The dates of the tickers that it forecasts. */
  readonly dates: readonly PanelDates[];
  /**
   * Writes its matrices, which all members of its ensemble learn from.
   * @param means `device` as the engine resolved it; `threads` that a joint network may use.
   * @throws MucastError output_failed if the work folder's disk is full; insufficient_history or constant_target if its block has
   * too little to learn from; the reason of the signal.
   */
  task(means: {
    readonly device: string;
    readonly threads: number;
    readonly signal: AbortSignal;
  }): Promise<WrittenTask>;
  /** For each of its tickers, in the order of `forecasts`, the position of its last score row among the predictions. */
  latest(): readonly number[];
  /**
   * Takes the forecasts of its tickers, ascending by code point, from what the engine predicted.
   * @param predictions as the protocol lays them out.
   */
  forecasts(predictions: Float64Array): TrainedTicker[];
  /** Why tickers cannot take part that took part in their first block; known once the task is written. */
  excluded(): readonly MucastError[];
  /** The same network, trained on the same rows, to forecast the score rows of a later block. */
  standIn(block: number): PlannedNetwork;
}

/** A task whose matrices are in the work folder. */
export interface WrittenTask {
  /** For a single network, or for member 0 of an ensemble. */
  readonly task: TrainNetworkTask | TrainJointTask;
  /** Files that the job removes once every member is done, besides the files of predictions. */
  readonly files: readonly string[];
}

export interface NetworkPlan {
  /** The networks of all blocks. */
  readonly networks: readonly PlannedNetwork[];
  /** Late tickers that have forecasts once they have joined. */
  readonly joined: readonly string[];
  /** The failures of tickers that cannot take part. */
  readonly failures: readonly Failure[];
}

/** The forecasts of a ticker's score rows, in one block or in all. */
export interface TickerForecasts {
  readonly ticker: string;
  readonly score: ScoreRows;
  /** The networks that forecast the score rows, in time order. */
  readonly models: readonly ScoreModel[];
  /** For an ensemble, the standard deviation (ddof 1) of its members' forecasts of the last score row, log-return. */
  readonly spread?: number;
  /** Shape (score): the network's predictions, in units of its target. */
  readonly predictions: Float64Array;
  /** The log-return that a difference of 1 between two predictions of the last score row stands for. */
  readonly predictionUnit: number;
}

/** A ticker with its forecasts, and the facts that its first network reports about it. */
export interface TrainedTicker
  extends TickerForecasts,
    Required<
      Pick<
        ModelledTicker,
        "dates" | "fitLabels" | "heldOut" | "residuals" | "rows" | "warnings" | "listed" | "splits"
      >
    >,
    Pick<ModelledTicker, "joins"> {
  /**
   * The rows whose labels early stopping monitored; the training mean is the mean of the ticker's own training labels. Empty for
   * a late ticker.
   */
  readonly validation: HeldOutPart;
  /** The calibration part, which chose nothing; empty without intervals and for a late ticker. */
  readonly calibration: HeldOutPart;
  /** The mean squared label of the training part; 0 without one. */
  readonly labelSquare: number;
}

/** A ticker is judged by the calibration part if there is one, because the validation part chose the epochs. */
export function judgedBy(validation: HeldOutPart, calibration: HeldOutPart) {
  const heldOut = calibration.days.length > 0 ? calibration : validation;
  return { validation, calibration, heldOut, residuals: calibration };
}

/** Only the forecasts. */
export function forecastsOf(trained: TrainedTicker): TickerForecasts {
  const { ticker, score, models, spread, predictions, predictionUnit } = trained;
  return {
    ...{ ticker, score, models, predictions, predictionUnit },
    ...(spread === undefined ? {} : { spread }),
  };
}

/** Which network forecasts rows. */
export interface Forecaster {
  readonly block: number;
  readonly isStandIn: boolean;
  /** The level of its forecasts comes from the labels known at this close; undefined for the labels of all fit rows. */
  readonly known: Day | undefined;
  /** The panel with all its fit rows. */
  readonly whole: PanelRows;
}

/** The parts of a ticker's rows that its network forecasts. */
type ForecastPart = "validate" | "calibrate" | "score";

/** Combines the forecasts of a network with the rows of their ticker. @param panel `fit` holds the rows that the network learned from. */
export function trainedTicker(
  panel: PanelOnDisk,
  rows: WindowPlan,
  predicted: Readonly<Record<ForecastPart, Float64Array>>,
  warnings: readonly Warning[] = panel.warnings,
  { block, isStandIn, known, whole }: Forecaster = {
    block: 0,
    isStandIn: false,
    known: undefined,
    whole: panel,
  },
): TrainedTicker {
  const { ticker } = panel;
  const facts = rowFacts(whole);
  const modelLabels = fitLabels(panel);
  const daysOf = (part: ForecastPart) => Int32Array.from(rows[part], (row) => panel.days[row]!);
  const learned = labelsAt(panel, rows.train);
  const learnedBy = rows.train.length === 0 ? undefined : panel.labelDays[rows.train.at(-1)!]!;
  const { joins } = whole;
  // The dates of a late ticker's rows are among the score rows of the others, so they judge no forecast.
  const held = (part: "validate" | "calibrate"): HeldOutPart =>
    joins === undefined
      ? {
          ticker,
          days: daysOf(part),
          labelDays: Int32Array.from(rows[part], (row) => panel.labelDays[row]!),
          predicted: forecastReturns(panel, rows[part], predicted[part], learnedBy),
          spans: levelOf(panel, rows[part], learnedBy),
          realised: labelsAt(panel, rows[part]),
          trainingMean: trainingMeans(learned, rows[part].length),
          labelDeviation: deviation(fitLabels(whole)),
        }
      : noRows(ticker);
  return {
    ticker,
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitLabels: fitLabels(whole),
    ...judgedBy(held("validate"), held("calibrate")),
    labelSquare: learned.length === 0 ? 0 : rootMeanSquare(learned) ** 2,
    score: {
      days: daysOf("score"),
      labels: labelsAt(panel, rows.score),
      labelDays: Int32Array.from(rows.score, (row) => panel.labelDays[row]!),
      volatility: Float64Array.from(rows.score, (row) => panel.volatility[row]!),
      predicted: forecastReturns(panel, rows.score, predicted.score, known),
      spans: levelOf(panel, rows.score, known),
    },
    models: [
      {
        block,
        from: 0,
        to: rows.score.length,
        fitRows: modelLabels.length,
        labelMean: mean(modelLabels),
        isStandIn,
      },
    ],
    predictions: predicted.score,
    predictionUnit: panel.relative?.widths[rows.score.at(-1)!] ?? 1,
    rows: facts,
    splits: {
      train: spanOf(panel, rows.train),
      validate: spanOf(panel, rows.validate),
      calibrate: spanOf(panel, rows.calibrate),
    },
    warnings,
    listed: [...listedOfRows(ticker, { ...facts, fitRows: panel.fit.length }), ...lateTicker(whole)],
  };
}

function noRows(ticker: string): HeldOutPart {
  const [none, noDays] = [new Float64Array(0), new Int32Array(0)];
  const arrays = { days: noDays, labelDays: noDays, predicted: none, realised: none, trainingMean: none };
  return { ticker, ...arrays, spans: [] };
}

/** @param rows ascending. */
function spanOf({ days }: Pick<PanelOnDisk, "days">, rows: Int32Array): DateSpan | undefined {
  return rows.length === 0 ? undefined : { start: days[rows[0]!]!, end: days[rows.at(-1)!]! };
}

/** Shape (rows): labels, NaN if there is none. */
function labelsAt({ y }: Pick<PanelRows, "y">, rows: ArrayLike<number>): Float64Array {
  return Float64Array.from(rows, (row) => y[row]!);
}

/** Shape (rows): what a network learns from these rows, NaN if there is nothing. */
export function targetsAt(panel: Pick<PanelRows, "y" | "relative">, rows: ArrayLike<number>): Float64Array {
  return labelsAt({ y: targetsOf(panel) }, rows);
}

/** The matrices of one network as files. @param name unique among the networks of the job. */
export function writeSamples(
  samples: { readonly ends: Float64Array; readonly labels: Float64Array; readonly parts: SampleParts },
  width: readonly number[],
  workFolder: string,
  name: string,
): { readonly ends: ArrayRef; readonly labels: ArrayRef; readonly predictions: { readonly ref: string } } {
  const { train, validate, predict } = samples.parts;
  const file = (kind: string) => join(workFolder, `${kind}${name}.npy`);
  return {
    ends: writeNpy(file("ends"), samples.ends, [train + validate + predict, ...width]),
    labels: writeNpy(file("labels"), samples.labels, [train + validate, ...width]),
    predictions: { ref: file("predictions") },
  };
}

/** The z-scores of a panel as its task has them. */
export function zScoresOf({ zScores }: Pick<PanelRows, "zScores">): { readonly z_scores?: number } {
  return zScores === undefined ? {} : { z_scores: zScores };
}

/** The settings that every training task carries, for member 0. */
export function trainingOf(settings: DlSettings) {
  const { network, training, scaler, lookback, seed, ...rest } = settings;
  // The job itself uses these.
  const {
    enabled: _,
    device: __,
    intervals: ___,
    joint: ____,
    shrinkage: _____,
    ensemble: ______,
    delay: _______,
    target: ________,
    crossSection: _________,
    refitEvery: __________,
    window: ___________,
    calibrates: ____________,
    choice: _____________,
    ...unused
  } = rest;
  unused satisfies Record<string, never>; // A new setting does not compile until it is in one of the two lists.
  return { network, training, scaler, lookback, seed, member: 0 };
}

/** With a window, the first row that a scaler sees: the first row of the first training window. */
export function scaledFrom(
  train: Int32Array,
  { window, lookback }: Pick<DlSettings, "window" | "lookback">,
): { readonly scale_from?: number } {
  return window === undefined ? {} : { scale_from: train[0]! - (lookback - 1) };
}
