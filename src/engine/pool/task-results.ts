import { z } from "zod";
import type { InlineArray } from "../inline-array.ts";
import type { ArrayRef } from "../npy.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "./network-protocol.ts";
import type { EngineTask, ResultOf, TaskKind, TaskProgress } from "./protocol.ts";

type TaskOf<K extends TaskKind> = Extract<EngineTask, { task: K }>;

/** What the engine may answer to a kind of task. */
interface ResultRules<K extends TaskKind> {
  /** Applies to any task. */
  readonly schema: z.ZodType<ResultOf<TaskOf<K>>>;
  /** The path of the member that is not what this task requested; undefined if all are. */
  readonly otherThanAsked: (
    task: TaskOf<K>,
    result: ResultOf<TaskOf<K>>,
    mayBeInline: boolean,
  ) => string | undefined;
}

/** A schema takes longer to create than to use, so each kind's is created once, with the first task. */
function resultRules(): { readonly [K in TaskKind]: ResultRules<K> } {
  const count = z.int().min(0);
  const seconds = z.number().min(0);
  const layout = { dtype: z.literal("<f8"), shape: z.array(count), order: z.literal("C") };
  const inFile = z.strictObject({ ref: z.string(), ...layout });
  const inMessage = z.strictObject({ base64: z.string(), ...layout });
  const trained = z.object({
    predictions: inFile,
    weights: inFile.exactOptional(),
    epochs: z
      .array(
        z.object({
          train_loss: z.number(),
          validation_loss: z.number(),
          validation_ic: z.number().exactOptional(),
        }),
      )
      .min(1),
    best_epoch: z.int().min(1),
    zero_validation_loss: z.number(),
    parameters: count,
    prediction_scale: z.number().exactOptional(),
    seconds,
  });
  const fault = z.object({
    code: z.enum(["diverged", "constant_target"]),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  });
  const constant = z.object({
    value: z.number(),
    train_rows: count,
    largest_alpha: z.number().nullable().exactOptional(),
    min_child_samples: z.number().exactOptional(),
  });
  const nothing = () => undefined;
  return {
    trial: { schema: z.object({}), otherThanAsked: nothing },
    device: { schema: z.object({ device: z.string().regex(/^(cpu|cuda:\d+)$/) }), otherThanAsked: nothing },
    fit_predict: {
      schema: z.object({
        predictions: z.union([inFile, inMessage]),
        seconds: z.array(seconds),
        unconverged_fits: count,
        diagnoses: z.array(
          z.object({
            constant: constant.exactOptional(),
            importances: z.array(z.tuple([count, z.number()])).exactOptional(),
          }),
        ),
      }),
      otherThanAsked: ({ fits, predictions, x }, result, mayBeInline) => {
        const rows = fits.reduce((sum, { predict: [from, to] }) => sum + to - from, 0);
        if ("base64" in result.predictions && !mayBeInline) return "predictions";
        if (result.seconds.length !== fits.length) return "seconds";
        if (result.diagnoses.length !== fits.filter(({ diagnose }) => diagnose).length) return "diagnoses";
        const columns = result.diagnoses.flatMap(({ importances = [] }) => importances.map(([c]) => c));
        if (columns.some((column) => column >= (x.shape[1] ?? 0))) return "diagnoses";
        return otherArray(result.predictions, predictions.ref, rows);
      },
    },
    train_network: { schema: trained, otherThanAsked: otherTrained },
    train_joint: { schema: trained, otherThanAsked: otherTrained },
    train_stack: {
      schema: z.object({ results: z.array(z.union([trained, fault])) }),
      otherThanAsked: ({ networks }, { results }) => {
        if (results.length !== networks.length) return "results";
        for (const [i, result] of results.entries()) {
          const member = "code" in result ? undefined : otherTrained(networks[i]!, result);
          if (member !== undefined) return `results.${i}.${member}`;
        }
        return undefined;
      },
    },
  };
}

function otherTrained(task: TrainNetworkTask | TrainJointTask, result: TrainResult): string | undefined {
  const { validate, predict } = task.parts;
  const width = task.task === "train_joint" ? task.tickers.length : 1;
  if (result.best_epoch > result.epochs.length) return "best_epoch";
  if ((task.weights === undefined) !== (result.weights === undefined)) return "weights";
  const weights =
    result.weights && otherArray(result.weights, task.weights!.ref, result.parameters, "weights");
  if (weights !== undefined) return weights;
  return otherArray(result.predictions, task.predictions.ref, (validate + predict) * width);
}

/** Checks the length of an array and the name of its file. */
function otherArray(
  array: ArrayRef | InlineArray,
  ref: string,
  length: number,
  name = "predictions",
): string | undefined {
  if ("ref" in array && array.ref !== ref) return `${name}.ref`;
  return array.shape.length === 1 && array.shape[0] === length ? undefined : `${name}.shape`;
}

let rules: ReturnType<typeof resultRules> | undefined;

/** The number of characters of a value that a message shows. */
const SHOWN = 100;

/**
 * A sentence that says why the engine's answer is not a result of `task`, and names the member; undefined if it is one. A result has all
 * predictions, in the file that the task names or, if `mayBeInline`, in the message.
 */
export function resultFault(task: EngineTask, result: unknown, mayBeInline: boolean): string | undefined {
  rules ??= resultRules();
  const { schema, otherThanAsked } = rules[task.task] as ResultRules<TaskKind>;
  const parsed = schema.safeParse(result);
  const member = parsed.success
    ? otherThanAsked(task, parsed.data, mayBeInline)
    : memberOf(parsed.error.issues).join(".");
  if (member === undefined) return undefined;
  const names = member === "" ? [] : member.split(".");
  const value = names.reduce<unknown>((within, name) => Object(within)[name], result);
  const its = member === "" ? "it" : `its ${JSON.stringify(member)}`;
  if (value === undefined) return member === "" ? "it is none" : `it has no ${JSON.stringify(member)}`;
  return `${its} is ${JSON.stringify(value).slice(0, SHOWN)}`;
}

/** The path of the first wrong member; in a union, within the most similar option. */
function memberOf([first]: readonly z.core.$ZodIssue[]): PropertyKey[] {
  if (first === undefined) return [];
  const within = first.code === "invalid_union" ? [...first.errors].sort((a, b) => a.length - b.length) : [];
  return [...first.path, ...memberOf(within[0] ?? [])];
}

const isCount = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

/** Whether a message has the members that a task of the kind sends as progress; the pool reads thousands per second. */
export function isProgressOf(task: EngineTask, progress: object): progress is TaskProgress {
  const report = progress as Readonly<Record<string, unknown>>;
  const isEpoch = (most: number) =>
    isCount(report.epoch, 1, most) &&
    Number.isFinite(report.train_loss) &&
    Number.isFinite(report.validation_loss);
  switch (task.task) {
    case "fit_predict":
      return (
        isCount(report.fit, 0, task.fits.length - 1) &&
        Number.isFinite(report.seconds) &&
        Number(report.seconds) >= 0
      );
    case "train_network":
    case "train_joint":
      return isEpoch(task.training.epochs);
    case "train_stack":
      return task.networks.some(
        ({ ticker, member, block = 0, training }) =>
          ticker === report.ticker &&
          member === report.member &&
          block === (report.block ?? 0) &&
          isEpoch(training.epochs),
      );
    default:
      return false;
  }
}
