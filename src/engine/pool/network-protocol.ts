import type { ScalerName } from "../../contract/config/intervals.ts";
import type { NetworkSpec, TrainingSpec } from "../../contract/config/networks.ts";
import type { ArrayRef } from "../npy.ts";

/** What every task that trains a network carries. */
interface NetworkTask {
  /** What an error calls the task: its ticker, of an ensemble with the member. The engine does not use it. */
  readonly label?: string;
  readonly network: NetworkSpec;
  readonly training: TrainingSpec;
  readonly scaler: Exclude<ScalerName, "none">;
  /** Rows of one window. */
  readonly lookback: number;
  readonly seed: number;
  /** Its place in its ensemble, from 0; another one draws other numbers. */
  readonly member: number;
  /** As the engine's `device` task resolved it: `cpu` or `cuda:N`. */
  readonly device: string;
  /** Where the predictions are written; the file must be under the work folder. */
  readonly predictions: { readonly ref: string };
  /** Shape (parameters): the weights that training goes on from, in place of those that are drawn. */
  readonly first_weights?: ArrayRef;
  /** Where the weights that forecast are written; they are not if absent. */
  readonly weights?: { readonly ref: string };
}

/** How many samples, in the order of `ends`, each part has. */
export interface SampleParts {
  readonly train: number;
  readonly validate: number;
  /** Calibration and score together: the engine neither learns from them nor watches them. */
  readonly predict: number;
}

/** Trains one network on one ticker. A sample is a window. */
export interface TrainNetworkTask extends NetworkTask {
  readonly task: "train_network";
  /** Seeds derive from (seed, ticker, purpose), from member 1 on with the member. */
  readonly ticker: string;
  /** Shape (rows, k): every row in date order, labelled or not, all finite. */
  readonly x: ArrayRef;
  /** How many of the last columns of x are z-scores by date, which the scaler leaves as they are; 0 if absent. */
  readonly z_scores?: number;
  /** The scaler sees rows from this one on, up to the last training window's; 0 if absent. */
  readonly scale_from?: number;
  /** In a stack, the block of score rows that it forecasts, by which progress names it; 0 if absent. */
  readonly block?: number;
  /** Shape (train + validate + predict): the row of x on which each window ends; ascending within each part. */
  readonly ends: ArrayRef;
  /** Shape (train + validate): next-day log-returns, all finite. */
  readonly labels: ArrayRef;
  readonly parts: SampleParts;
}

/** Trains the networks of many tickers at once, each as it is trained alone, up to rounding. Meant for a GPU. */
export interface TrainStackTask {
  readonly task: "train_stack";
  readonly label?: string;
  /** At least one; they differ in label, ticker, member, block, x, scale_from, ends, labels, parts, predictions, first_weights and weights alone. */
  readonly networks: readonly TrainNetworkTask[];
  readonly device: string;
}

/** Trains one network on all tickers. A sample is a date. */
export interface TrainJointTask extends NetworkTask {
  readonly task: "train_joint";
  /** Ascending by code point. */
  readonly tickers: readonly JointTicker[];
  /** Size of the union of the tickers' features. */
  readonly features: number;
  /** Shape (train + validate + predict, tickers): the row of the ticker's x on which its window ends, -1 for none. */
  readonly ends: ArrayRef;
  /** Shape (train + validate, tickers): log-returns to learn from or to validate by, NaN if there is none. */
  readonly labels: ArrayRef;
  readonly parts: SampleParts;
  /** Threads to work with; results do not depend on it. */
  readonly threads: number;
}

interface JointTicker {
  readonly ticker: string;
  /** Shape (rows, k): every row in date order, all finite. */
  readonly x: ArrayRef;
  /** How many of the last columns of x are z-scores by date, which the scaler leaves as they are; 0 if absent. */
  readonly z_scores?: number;
  /** Shape (k): where each of its columns stands in the union. */
  readonly columns: readonly number[];
  /** The scaler sees rows [scale_from, scale_rows) alone: those up to the ticker's last training window; from row 0 if absent. */
  readonly scale_from?: number;
  readonly scale_rows: number;
}

/** Resolves the device that a job gets for `device`. @throws device_unavailable if it is not there. */
export interface DeviceTask {
  readonly task: "device";
  readonly label?: string;
  /** auto, cpu, cuda or cuda:N. */
  readonly device: string;
}

export interface DeviceResult {
  /** `cpu` or `cuda:N`. */
  readonly device: string;
}

/** Losses of one epoch, on scaled returns. */
interface EpochLosses {
  readonly train_loss: number;
  readonly validation_loss: number;
  /** With `monitor` ic: the mean over the validation dates of the correlation between forecasts and targets. */
  readonly validation_ic?: number;
}

export interface TrainResult {
  /**
   * Log-returns of the samples that validate, then of those that the engine only predicts. train_network: shape (validate +
   * predict). train_joint: shape ((validate + predict) * tickers), row-major, NaN if no window.
   */
  readonly predictions: ArrayRef;
  /** Shape (parameters): those that made the predictions, if the task asks for them. */
  readonly weights?: ArrayRef;
  /** One for each epoch that was run, in order. */
  readonly epochs: readonly EpochLosses[];
  /** Counted from 1; its weights made the predictions. */
  readonly best_epoch: number;
  /** The validation loss of the forecast 0. */
  readonly zero_validation_loss: number;
  /** How many numbers the network learned. */
  readonly parameters: number;
  /** Loss `directional` only: what raw predictions were multiplied by to be returns. */
  readonly prediction_scale?: number;
  readonly seconds: number;
}

export interface TrainStackResult {
  /** In the order of `networks`: the result of a network, or the error that it alone ended with. */
  readonly results: readonly (TrainResult | StackFault)[];
}

/** An error of one network of a stack: `diverged` or `constant_target`. */
interface StackFault {
  readonly code: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One epoch is done. */
export interface EpochProgress extends EpochLosses {
  /** Counted from 1. */
  readonly epoch: number;
}

/** One network of a stack has done an epoch. */
export interface StackProgress extends EpochProgress {
  readonly ticker: string;
  readonly member: number;
  /** 0 if absent. */
  readonly block?: number;
}
