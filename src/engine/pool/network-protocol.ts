import type { NetworkSpec, TrainingSpec } from "../../contract/config/networks.ts";
import type { ScalerName } from "../../contract/config/panel-settings.ts";
import type { ErrorData } from "../../contract/errors/errors.ts";
import type { ArrayRef } from "../npy.ts";

/** The fields of every task that trains a network. */
interface NetworkTask {
  /** The name of the task in errors: its ticker, and for an ensemble the member. The engine does not use it. */
  readonly label?: string;
  readonly network: NetworkSpec;
  readonly training: TrainingSpec;
  readonly scaler: Exclude<ScalerName, "none">;
  /** The number of rows in a window. */
  readonly lookback: number;
  readonly seed: number;
  /** Its index in its ensemble, from 0; each member draws other random numbers. */
  readonly member: number;
  /** As the engine's `device` task resolved it: `cpu` or `cuda:N`. */
  readonly device: string;
  /** The file for the predictions; must be under the work folder. */
  readonly predictions: { readonly ref: string };
}

/** The number of samples in each part, in the order of `ends`. */
export interface SampleParts {
  readonly train: number;
  readonly validate: number;
  /** Calibration and score together: the engine neither learns from them nor monitors them. */
  readonly predict: number;
}

/** Trains one network on one ticker. A sample is a window. */
export interface TrainNetworkTask extends NetworkTask {
  readonly task: "train_network";
  /** Seeds derive from (seed, ticker, purpose), and from member 1 on also from the member. */
  readonly ticker: string;
  /** Shape (rows, k): every row in date order, labelled or not, all finite. */
  readonly x: ArrayRef;
  /** The number of last columns of x that are z-scores by date, which the scaler leaves unchanged; 0 if absent. */
  readonly z_scores?: number;
  /** The scaler uses rows from this one up to the row of the last training window; 0 if absent. */
  readonly scale_from?: number;
  /** In a stack, the block of score rows that it forecasts, which progress reports; 0 if absent. */
  readonly block?: number;
  /** Shape (train + validate + predict): the row of x on which each window ends; ascending within each part. */
  readonly ends: ArrayRef;
  /** Shape (train + validate): the targets that the network learns, all finite. */
  readonly labels: ArrayRef;
  readonly parts: SampleParts;
}

/** Trains the networks of many tickers at once, with the same result as alone, up to rounding. Meant for a GPU. */
export interface TrainStackTask {
  readonly task: "train_stack";
  readonly label?: string;
  /** At least one. They differ only in label, ticker, member, block, x, scale_from, ends, labels, parts and predictions. */
  readonly networks: readonly TrainNetworkTask[];
  readonly device: string;
}

/** Trains one network on all tickers. A sample is a date. */
export interface TrainJointTask extends NetworkTask {
  readonly task: "train_joint";
  /** Ascending by code point. */
  readonly tickers: readonly JointTicker[];
  /** The number of distinct features of all tickers. */
  readonly features: number;
  /** Shape (train + validate + predict, tickers): the row of the ticker's x on which its window ends, -1 for none. */
  readonly ends: ArrayRef;
  /** Shape (train + validate, tickers): log-returns for training or validation, NaN if there is none. */
  readonly labels: ArrayRef;
  readonly parts: SampleParts;
  /** The number of threads; results do not depend on it. */
  readonly threads: number;
}

interface JointTicker {
  readonly ticker: string;
  /** Shape (rows, k): every row in date order, all finite. */
  readonly x: ArrayRef;
  /** The number of last columns of x that are z-scores by date, which the scaler leaves unchanged; 0 if absent. */
  readonly z_scores?: number;
  /** Shape (k): the position of each of its columns in the union. */
  readonly columns: readonly number[];
  /** The scaler uses only rows [scale_from, scale_rows), which end at the ticker's last training window; from row 0 if absent. */
  readonly scale_from?: number;
  readonly scale_rows: number;
}

/** Resolves the device for a job. @throws device_unavailable if it does not exist. */
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
   * Log-returns of the validation samples, then of those that the engine only predicts. train_network: shape (validate + predict).
   * train_joint: shape ((validate + predict) * tickers), row-major, NaN if there is no window.
   */
  readonly predictions: ArrayRef;
  /** One for each epoch that ran, in order. */
  readonly epochs: readonly EpochLosses[];
  /** Counted from 1; the weights of this epoch made the predictions. */
  readonly best_epoch: number;
  /** The validation loss of the forecast 0. */
  readonly zero_validation_loss: number;
  /** The number of learned parameters. */
  readonly parameters: number;
  /** Loss `directional` only: the factor that turned raw predictions into returns. */
  readonly prediction_scale?: number;
  readonly seconds: number;
}

export interface TrainStackResult {
  /** In the order of `networks`: the result of a network, or the error that ended only this one. */
  readonly results: readonly (TrainResult | TaskFault)[];
}

/** The error of a task; of one network of a stack, `diverged` or `constant_target`. */
export interface TaskFault {
  readonly code: string;
  readonly message: string;
  readonly data: ErrorData;
}

/** One epoch has ended. */
export interface EpochProgress extends EpochLosses {
  /** Counted from 1. */
  readonly epoch: number;
}

/** One network of a stack has finished an epoch. */
export interface StackProgress extends EpochProgress {
  readonly ticker: string;
  readonly member: number;
  /** 0 if absent. */
  readonly block?: number;
}
