import { z } from "zod";
import type { EngineTask, TaskKind, TaskProgress } from "./protocol.ts";

const count = () => z.int().min(0);
const seconds = () => z.number().min(0);

/** The array that a task names for its predictions. */
function predicted({ predictions }: { readonly predictions: { readonly ref: string } }, length: number) {
  return z.strictObject({
    ref: z.literal(predictions.ref),
    dtype: z.literal("<f8"),
    shape: z.tuple([z.literal(length)]),
    order: z.literal("C"),
  });
}

function trained(task: Extract<EngineTask, { task: "train_network" | "train_joint" }>) {
  const { validate, predict } = task.parts;
  const width = task.task === "train_joint" ? task.tickers.length : 1;
  return z.object({
    predictions: predicted(task, (validate + predict) * width),
    epochs: z.array(z.object({ train_loss: z.number(), validation_loss: z.number() })).min(1),
    best_epoch: z.int().min(1),
    zero_validation_loss: z.number(),
    parameters: count(),
    prediction_scale: z.number().optional(),
    seconds: seconds(),
  });
}

/** One network of a stack that failed. */
function fault() {
  return z.object({ code: z.string(), message: z.string(), data: z.record(z.string(), z.unknown()) });
}

/** What a node may answer to each kind of task. */
const SCHEMAS: { readonly [K in TaskKind]: (task: Extract<EngineTask, { task: K }>) => z.ZodType } = {
  trial: () => z.object({}),
  device: () => z.object({ device: z.string() }),
  fit_predict: (task) =>
    z.object({
      predictions: predicted(
        task,
        task.fits.reduce((sum, { predict: [from, to] }) => sum + to - from, 0),
      ),
      seconds: z.array(seconds()).length(task.fits.length),
      unconverged_fits: count(),
      constant: z.object({ value: z.number(), train_rows: count() }).optional(),
      importances: z.array(z.tuple([count(), z.number()])).optional(),
    }),
  train_network: trained,
  train_joint: trained,
  train_stack: ({ networks }) =>
    z.object({
      results: z
        .array(z.unknown())
        .length(networks.length)
        .refine((results) =>
          results.every((result, i) => z.union([trained(networks[i]!), fault()]).safeParse(result).success),
        ),
    }),
};

const isCount = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

/** Whether a message has the members that a task of the kind sends while it works; the pool reads thousands a second. */
export function isProgressOf(task: EngineTask, progress: object): progress is TaskProgress {
  const told = progress as Readonly<Record<string, unknown>>;
  const isEpoch = (most: number) =>
    isCount(told.epoch, 1, most) && Number.isFinite(told.train_loss) && Number.isFinite(told.validation_loss);
  switch (task.task) {
    case "fit_predict":
      return (
        isCount(told.fit, 0, task.fits.length - 1) &&
        Number.isFinite(told.seconds) &&
        Number(told.seconds) >= 0
      );
    case "train_network":
    case "train_joint":
      return isEpoch(task.training.epochs);
    case "train_stack":
      return task.networks.some(
        ({ ticker, member, training }) =>
          ticker === told.ticker && member === told.member && isEpoch(training.epochs),
      );
    default:
      return false;
  }
}

/** Whether a node has answered a task as its kind is answered, with all predictions, in the file that the task names. */
export function isResultOf(task: EngineTask, result: unknown): boolean {
  const schemaOf = SCHEMAS[task.task] as (task: EngineTask) => z.ZodType;
  return schemaOf(task).safeParse(result).success;
}
