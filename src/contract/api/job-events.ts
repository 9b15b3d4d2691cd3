import { z } from "zod";
import type { Warning } from "../errors/warnings.ts";
import type { Failure } from "../output/output-blob.ts";
import type { CodeCounts } from "./answer-limits.ts";

/** The steps of a job, in the order in which they begin. */
export const STAGES = ["read", "fit", "evaluate", "write"] as const;
export type Stage = (typeof STAGES)[number];

/**
 * How far a stage is. Counts are whole units of work: bytes while reading; while fitting, fits of run_ml_job and
 * epochs of run_dl_job, where an epoch that early stopping saves counts as done when its network is; while evaluating,
 * tickers of each table.
 */
export interface Progress {
  readonly kind: "progress";
  readonly stage: Stage;
  readonly done: number;
  readonly total?: number;
  /** Whose network has done an epoch; `portfolio` for a joint one. */
  readonly ticker?: string;
  /** Which network of an ensemble, counted from 0. */
  readonly member?: number;
  /** Counted from 1. */
  readonly epoch?: number;
  /** Losses of that epoch, on scaled returns. */
  readonly train_loss?: number;
  readonly validation_loss?: number;
}

/** What a running job tells. */
export type JobEvent =
  | Progress
  | { readonly kind: "warning"; readonly warning: Warning }
  | { readonly kind: "failure"; readonly failure: Failure };

export type Report = (event: JobEvent) => void;

/** What an executor reports about a job: events that come by the thousand are gathered, and only the first of many are reported. */
export type ExecutionEvent =
  | JobEvent
  | { readonly kind: "epochs"; readonly epochs: Epochs }
  /** All warnings and failures of the attempt so far, by their codes. */
  | { readonly kind: "counts"; readonly warnings: CodeCounts; readonly failures: CodeCounts };

const loss = z.number().nullable().describe("On scaled returns; null where it is not finite.");

/** What one epoch of a network's training gave. */
const epochPointSchema = z
  .strictObject({
    ticker: z.string().describe("Whose network it is; `portfolio` for a joint one."),
    member: z.int().nonnegative().optional().describe("Which network of an ensemble it is, counted from 0."),
    epoch: z.int().positive().describe("Counted from 1."),
    train_loss: loss,
    validation_loss: loss,
  })
  .meta({ id: "EpochPoint" });

export type EpochPoint = z.infer<typeof epochPointSchema>;

/**
 * Epochs in the order in which they ended. Of very many some are left out, evenly, but of each network neither the best
 * of them nor the last.
 */
export const epochsSchema = z
  .strictObject({
    points: z.array(epochPointSchema).min(1),
    left_out: z
      .int()
      .positive()
      .optional()
      .describe("How many epochs ended meanwhile that are not among them."),
  })
  .meta({ id: "Epochs" });

export type Epochs = z.infer<typeof epochsSchema>;
