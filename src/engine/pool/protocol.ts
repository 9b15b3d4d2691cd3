import { isDeepStrictEqual } from "node:util";
import type { ScalerName } from "../../contract/config/panel-settings.ts";
import type { ErrorData } from "../../contract/errors/errors.ts";
import type { Estimator } from "../../contract/model-params/resolve.ts";
import type { Machine, Threads } from "../../contract/output/output-blob.ts";
import type { ArrayRef, InlineArray } from "../npy.ts";
import type {
  DeviceResult,
  DeviceTask,
  EpochProgress,
  StackProgress,
  TaskFault,
  TrainJointTask,
  TrainNetworkTask,
  TrainResult,
  TrainStackResult,
  TrainStackTask,
} from "./network-protocol.ts";

/** Each kind of task: the engine's input, the worker's answer, and its progress reports. */
interface TaskKinds {
  fit_predict: { task: FitPredictTask; result: FitPredictResult; progress: FitProgress };
  trial: { task: TrialTask; result: Record<string, never>; progress: never };
  device: { task: DeviceTask; result: DeviceResult; progress: never };
  train_network: { task: TrainNetworkTask; result: TrainResult; progress: EpochProgress };
  train_stack: { task: TrainStackTask; result: TrainStackResult; progress: StackProgress };
  train_joint: { task: TrainJointTask; result: TrainResult; progress: EpochProgress };
}

export type TaskKind = keyof TaskKinds;

export type EngineTask = TaskKinds[TaskKind]["task"];

export type ResultOf<T extends EngineTask> = TaskKinds[T["task"]]["result"];

export type ProgressOf<T extends EngineTask> = TaskKinds[T["task"]]["progress"];

export type TaskProgress = TaskKinds[TaskKind]["progress"];

/** Half-open range of rows. */
type Rows = readonly [from: number, to: number];

/** Fits one new scaler and one new regressor per entry of `fits`, in order. */
export interface FitPredictTask {
  readonly task: "fit_predict";
  /** The name of the task in errors: its ticker. The engine does not use it. */
  readonly label?: string;
  readonly estimator: Estimator;
  readonly scaler: ScalerName;
  /** Shape (n, k). */
  readonly x: ArrayRef;
  /** Shape (m), m <= n: every row used for training lies before m, and is finite. */
  readonly y: ArrayRef;
  readonly fits: readonly FitRows[];
  /** Fits use views of x if the library makes its own copy; for a matrix that many fits share. */
  readonly views?: true;
  /**
   * Each fit with `pool` also predicts its rows once per group, with the columns of the group from random rows of the pool. These predictions
   * follow all others, fit by fit, then group by group.
   */
  readonly permutation?: Permutation;
  /** x has NaN if a row lacks a column: each fit uses the mean of the column over its training rows, or 0 if these lack it, too. */
  readonly absent?: true;
  /**
   * The file for the predictions of all fits, one after the other, unless the result contains them itself; must be under the work folder.
   */
  readonly predictions: { readonly ref: string };
}

/** Features that are replaced, to measure how much the forecasts need them. */
export interface Permutation {
  /** Columns of x that are replaced together. */
  readonly groups: readonly (readonly number[])[];
  /** The order also depends on the rows to predict and on the number of the group. */
  readonly seed: readonly number[];
  /** Shape (m): a row gets only values of rows of its own stratum. Without it, all rows are one. */
  readonly strata?: ArrayRef;
}

export interface FitRows {
  readonly train: Rows;
  readonly predict: Rows;
  /** The rows whose values replace those of the rows to predict, which it contains. Requires `permutation`. */
  readonly pool?: Rows;
  /** Reports the importances of this fit's features, and explains a constant prediction. */
  readonly diagnose?: true;
}

/** A tiny fit on synthetic rows, which refuses wrong argument values. */
interface TrialTask {
  readonly task: "trial";
  readonly label?: string;
  readonly estimator: Estimator;
  readonly scaler: ScalerName;
  /** The number of columns of those rows; arguments may refer to any of them. */
  readonly columns: number;
}

/** Why a model predicts one constant. */
export interface ConstantDescription {
  readonly value: number;
  readonly train_rows: number;
  /** Lasso and elastic net: from this alpha on, every coefficient is 0; null if no alpha keeps one. */
  readonly largest_alpha?: number | null;
  /** lightgbm. */
  readonly min_child_samples?: number;
}

export interface FitPredictResult {
  /** Shape (sum of the predicted rows; then those of `permutation`). Up to 1,024 of them are in the message. */
  readonly predictions: ArrayRef | InlineArray;
  /** For each fit, with its prediction. */
  readonly seconds: readonly number[];
  /** The number of fits that the library stopped before they converged. */
  readonly unconverged_fits: number;
  /** For each fit marked `diagnose`, in order. */
  readonly diagnoses: readonly Diagnosis[];
}

export interface Diagnosis {
  /** Present if the fit predicts a single value for two rows or more. */
  readonly constant?: ConstantDescription;
  /** The 50 largest by absolute value, largest first; absent if the library has none. */
  readonly importances?: readonly (readonly [column: number, importance: number])[];
}

/** One fit of a task has ended. */
interface FitProgress {
  readonly fit: number;
  readonly seconds: number;
}

/** The cluster that a gateway has connected to. */
interface ClusterFacts {
  /** `ray://host:port`. */
  readonly address: string;
  /** Version of Ray. */
  readonly ray: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly cpus: number;
    readonly gpus: number;
    readonly memory_bytes: number;
  }[];
  /** The head's environment variables by which Ray decides that a node is lost. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** The engine's first message, and its answer to `import`. */
export interface Greeting {
  /** `python`, numpy, scipy, scikit-learn and the libraries asked for, by their own names. */
  readonly versions: Readonly<Record<string, string>> & { readonly python: string };
  readonly threads: Threads;
  /** The processor level to which the libraries' kernels are pinned; null if they are not. */
  readonly kernel_level: string | null;
  /** What those libraries run on. */
  readonly machine: Machine;
  /** How the host starts workers; `cluster` for a gateway. */
  readonly start: "fork" | "spawn" | "cluster";
  readonly import_seconds: number;
  /** For a gateway. The facts above are then those of the nodes, which all agree. */
  readonly cluster?: ClusterFacts;
  /** For a gateway: the number of tasks with one thread at a time. */
  readonly slots?: number;
}

/** Why there is no engine. Only a gateway sends code and data. */
export interface EngineFault {
  readonly message: string;
  readonly code?: string;
  readonly data?: ErrorData;
}

/** What the host writes, one JSON object per line. */
export type EngineMessage =
  | ({ readonly event: "ready" } & Greeting)
  | ({ readonly event: "failed" } & EngineFault)
  /** A slot of a cluster has no pid. */
  | { readonly event: "worker_started"; readonly worker: number; readonly pid?: number }
  | ({ readonly event: "worker_exited"; readonly worker: number } & (WorkerEnd | SlotEnd))
  | ({ readonly event: "slots" } & ChangedSlots)
  /** A task waits for something that the cluster does not have free; without an id, the job waits for any core at all. */
  | { readonly event: "delayed"; readonly id?: number | undefined; readonly message: string }
  | ({ readonly event: "progress"; readonly id: number } & TaskProgress)
  | { readonly event: "result"; readonly id: number; readonly result: unknown }
  | ({ readonly event: "error"; readonly id: number } & TaskFault);

export interface WorkerEnd {
  readonly pid: number;
  readonly signal: number | null;
  readonly exit_code: number | null;
  readonly max_rss_bytes: number;
}

/** How the cluster slot of a task ended. */
export interface SlotEnd {
  /** Null if the task had not reached a node. */
  readonly node: string | null;
  /** Why the last attempt failed, such as `the node 10.0.0.7 was lost`. */
  readonly reason: string;
  /** How often the cluster tried the task; Ray itself retries one that it loses. */
  readonly attempts: number;
}

/** Nodes of a cluster have come or gone. */
export interface ChangedSlots {
  readonly slots: number;
  /** Names of nodes. */
  readonly added: readonly string[];
  readonly lost: readonly { readonly name: string; readonly reason: string }[];
}

/** What a task needs of a cluster beyond one core; a gateway caps cores at those of the largest node. */
export interface TaskResources {
  readonly cpus?: number;
  readonly gpus?: number;
  /** The name of the only node that may run it. */
  readonly node?: string;
  /** Bytes that Ray reserves on its node. */
  readonly memory?: number;
}

/** What the host reads, one per line: the request, and after a tab the task, which the host passes to the worker unread. */
export type EngineRequest =
  | { readonly op: "import"; readonly libraries: readonly string[] }
  | { readonly op: "start" | "kill"; readonly worker: number }
  | ({ readonly op: "task"; readonly worker: number; readonly id: number } & TaskResources);

/** Whether both compute with what leaves the same bytes, so that one provenance applies to both. */
export function areAlike(one: Greeting, other: Greeting): boolean {
  const facts = ({ versions, threads, kernel_level, machine: { processor, ...kernels } }: Greeting) => {
    return [versions, threads, kernel_level, kernels, kernel_level === null ? processor : ""];
  };
  return isDeepStrictEqual(facts(one), facts(other));
}
