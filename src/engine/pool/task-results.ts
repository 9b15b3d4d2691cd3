import type { ArrayRef, InlineArray } from "../npy.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "./network-protocol.ts";
import type { EngineTask, ResultOf, TaskKind } from "./protocol.ts";

type TaskOf<K extends TaskKind> = Extract<EngineTask, { task: K }>;

/** Finds the member of a result whose shape or numbers do not fit the task. */
type Checks = {
  readonly [K in TaskKind]: (task: TaskOf<K>, result: ResultOf<TaskOf<K>>) => string | undefined;
};

const CHECKS: Checks = {
  trial: () => undefined,
  device: (_task, { device }) => (typeof device === "string" ? undefined : "device"),
  fit_predict: ({ fits, predictions: { ref }, permutation }, { predictions, seconds, diagnoses }) => {
    if (!areNumbers(seconds, fits.length)) return "seconds";
    if (diagnoses.length !== fits.filter(({ diagnose }) => diagnose).length) return "diagnoses";
    const permuted = (permutation?.groups.length ?? 0) * rowsOf(fits.filter(({ pool }) => pool));
    return isArray(predictions, ref, rowsOf(fits) + permuted) ? undefined : "predictions";
  },
  train_network: wrongMember,
  train_joint: wrongMember,
  train_stack: ({ networks }, { results }) => {
    if (results.length !== networks.length) return "results";
    for (const [i, result] of results.entries()) {
      const member = "code" in result ? undefined : wrongMember(networks[i]!, result);
      if (member !== undefined) return `results.${i}.${member}`;
    }
    return undefined;
  },
};

function rowsOf(fits: TaskOf<"fit_predict">["fits"]): number {
  return fits.reduce((sum, { predict: [from, to] }) => sum + to - from, 0);
}

function wrongMember(task: TrainNetworkTask | TrainJointTask, result: TrainResult): string | undefined {
  const { predictions, epochs, best_epoch: best, zero_validation_loss: zero } = result;
  const { validate, predict } = task.parts;
  const width = task.task === "train_joint" ? task.tickers.length : 1;
  const losses = epochs.flatMap(({ train_loss, validation_loss }) => [train_loss, validation_loss]);
  if (!areNumbers(losses, 2 * epochs.length)) return "epochs";
  if (epochs[best - 1] === undefined) return "best_epoch";
  if (!areNumbers([zero], 1)) return "zero_validation_loss";
  const rows = (validate + predict) * width;
  return isArray(predictions, task.predictions.ref, rows) ? undefined : "predictions";
}

function areNumbers(values: readonly number[], count: number): boolean {
  return values.length === count && values.every(Number.isFinite);
}

/** Whether an array is in the message or in the file that the task names, and has that length. */
function isArray(array: ArrayRef | InlineArray, ref: string, length: number): boolean {
  const { shape } = array;
  return (!("ref" in array) || array.ref === ref) && shape.length === 1 && shape[0] === length;
}

/**
 * A sentence that says why the engine's answer is not a result of `task`; undefined if it is one. Our own engine answers, so this checks
 * what a defect would change without an error: shapes, and whether numbers are finite.
 */
export function resultFault(task: EngineTask, result: unknown): string | undefined {
  const check = CHECKS[task.task] as (task: EngineTask, result: unknown) => string | undefined;
  try {
    const member = check(task, result);
    return member === undefined ? undefined : `its ${JSON.stringify(member)} does not fit the task`;
  } catch (error) {
    if (error instanceof TypeError) return "a member is missing";
    throw error;
  }
}
