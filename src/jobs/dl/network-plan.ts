/**
 * The plan of networks, per ticker or joint: which tickers take part, how many networks are trained, and the matrices of each.
 * `per-ticker.ts` and `joint.ts` make it; `train-networks.ts` trains it.
 */
import { join } from "node:path";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { parameterCount } from "../../contract/config/networks.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { writeNpy } from "../../engine/npy.ts";
import type { SampleParts, TrainJointTask, TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { intervalUnsupported, withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import type { FitPlan, PlannedTicker } from "../plan.ts";
import { lateTicker, listedOfRows } from "../shared/job-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import type { BlockForecasts } from "./collect-networks.ts";

export interface NetworkPlan extends Pick<FitPlan, "tickers" | "failures"> {
  readonly series: readonly NetworkSeries[];
  /** Estimated bytes of the data that the largest network reads. */
  readonly bytes: number;
}

/** The networks of one ticker, or of all: one per block of score rows. */
export interface NetworkSeries {
  /** The ticker, or `portfolio`. */
  readonly name: string;
  /** Whether each network learns from all tickers, so that the job fails with its first one. */
  readonly joint: boolean;
  /** The blocks with a network, ascending. */
  readonly blocks: readonly number[];
  /** By ticker, the block of its first network; without late tickers that have nothing to forecast. */
  readonly begins: ReadonlyMap<string, number>;
  /** Estimated processor time of one network of a block; the longest are started first. */
  seconds(block: number): number;
  /**
   * Writes the matrices of a network that learns what is known at block `learned` and forecasts the score rows of `block`.
   * @throws MucastError insufficient_history or constant_target if there is too little to learn from; output_failed if the disk is full.
   */
  write(learned: number, block: number, means: Means): WrittenNetwork;
}

export interface Means {
  readonly device: string;
  readonly threads: number;
  readonly workFolder: string;
}

export interface WrittenNetwork {
  /** For a single network, or for member 0 of an ensemble. */
  readonly task: TrainNetworkTask | TrainJointTask;
  /** For each of its tickers, in the order of `collect`, the position of its last score row among the predictions. */
  readonly latest: readonly number[];
  /** Why tickers that take part, by `begins`, cannot do so here although they have something to forecast. */
  readonly lost: readonly MucastError[];
  /** The forecasts of its tickers, ascending by code point. @param predictions as the protocol lays them out. */
  collect(predictions: Float64Array): readonly BlockForecasts[];
}

/** What a task of either kind has in common, with its matrices as files. @param name unique in the work folder. */
export function writeTask(
  settings: DlSettings,
  {
    parts,
    ...samples
  }: { readonly ends: Float64Array; readonly labels: Float64Array; readonly parts: SampleParts },
  { device, workFolder }: Means,
  { name, width = [] }: { readonly name: string; readonly width?: readonly number[] },
) {
  const { network, training, scaler, lookback, seed } = settings;
  const file = (kind: string) => join(workFolder, `${kind}${name}.npy`);
  const learned = parts.train + parts.validate;
  return {
    ...{ network, training, scaler, lookback, seed, member: 0, device, parts },
    ends: writeNpy(file("ends"), samples.ends, [learned + parts.predict, ...width]),
    labels: writeNpy(file("labels"), samples.labels, [learned, ...width]),
    predictions: { ref: file("predictions") },
  };
}

/** What a scaler leaves unchanged and, with a window, the first row that it sees: the first row of the first training window. */
export function scalingOf(
  { zScores }: Pick<PanelRows, "zScores">,
  train: Int32Array,
  { window, lookback }: Pick<DlSettings, "window" | "lookback">,
): { readonly z_scores?: number; readonly scale_from?: number } {
  return {
    ...(zScores === undefined ? {} : { z_scores: zScores }),
    ...(window === undefined ? {} : { scale_from: train[0]! - (lookback - 1) }),
  };
}

/** For each row of a window and each parameter, measured with the default settings of all networks; rough within a factor of 3. */
const NANOSECONDS = 0.4;
/** The first layer of mlp has own parameters for each row of a window. */
const MLP_NANOSECONDS = 1.2;

/** Estimates the training of one network on one thread. @param rows of all tickers, each of which may end a window. */
export function trainingSeconds(
  { network, training: { epochs }, lookback }: DlSettings,
  rows: number,
  features: number,
): number {
  const perRow = network.architecture === "mlp" ? MLP_NANOSECONDS : NANOSECONDS * lookback;
  return (epochs * rows * perRow * parameterCount(network, features, lookback)) / 1e9;
}

/**
 * For each value, the float64 of the file and the float32 that a network reads; for each row, its position, its label and whether
 * it has one.
 */
const [VALUE_BYTES, ROW_BYTES] = [8 + 4, 8 + 8 + 4 + 4];

export function dataBytes(panels: readonly PanelRows[], features: number): number {
  return panels.reduce((sum, { days }) => sum + days.length, 0) * (VALUE_BYTES * features + ROW_BYTES);
}

/** @param windows of its first network, which learns from `fitRows` rows. */
export function planTicker(
  panel: PanelRows,
  { train, validate, calibrate }: Omit<WindowPlan, "score">,
  fitRows: number,
  warnings: readonly Warning[],
  { intervals, lookback }: DlSettings,
): PlannedTicker {
  const { ticker, joins } = panel;
  const withIntervals = intervals !== undefined && joins === undefined;
  const unsupported = !withIntervals
    ? undefined
    : calibrate.length === 0
      ? withoutResiduals(ticker)
      : intervalUnsupported(ticker, calibrate.length, intervals.alpha);
  const windows = {
    train: train.length,
    validate: validate.length,
    calibrate: calibrate.length,
    score: panel.score.filter((row) => row >= lookback - 1).length,
  };
  return {
    panel,
    counts: { windows },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed: [...listedOfRows(ticker, { ...rowFacts(panel), fitRows }), ...lateTicker(panel)],
  };
}
