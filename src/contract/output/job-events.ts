import { z } from "zod";
import { AUDIT_CHECKS } from "../config/payload-schemas.ts";
import { type Failure, failureSchema } from "../problems/problem.ts";
import { type Warning, warningSchema } from "../problems/warnings.ts";
import { mayGrow } from "../schema/open-schema.ts";
import { type RunSummary, runSummarySchema } from "./run-summary.ts";

/** The steps of a job, in the order in which they start, and the checks of an audit. */
export const STAGES = ["read", "fit", "evaluate", "write", ...AUDIT_CHECKS] as const;
export type Stage = (typeof STAGES)[number];

/**
 * How far a stage is. Counts are whole units of work:
 * - read: bytes.
 * - fit: fits of run_ml_job; epochs of run_dl_job, of every member of an ensemble. An epoch that early stopping saves counts as done when its network is.
 * - evaluate: tickers of each table.
 * - a check of an audit: its own units, such as jobs, blobs or tickers.
 */
export interface Progress {
  readonly kind: "progress";
  readonly stage: Stage;
  readonly done: number;
  readonly total?: number;
  /** The ticker whose network has finished an epoch; `portfolio` for a joint network. */
  readonly ticker?: string;
  /** Index of the network in its ensemble, from 0. */
  readonly member?: number;
  /** Counted from 1. */
  readonly epoch?: number;
  /** Losses of that epoch, on scaled returns. */
  readonly train_loss?: number;
  readonly validation_loss?: number;
}

export type JobEvent =
  | Progress
  | { readonly kind: "warning"; readonly warning: Warning }
  | { readonly kind: "failure"; readonly failure: Failure }
  /** Once, before the output is written. */
  | { readonly kind: "summary"; readonly summary: RunSummary };

export type Report = (event: JobEvent) => void;

const loss = z.number().nullable().describe("On scaled returns; null if it is not finite.");

const epochPointSchema = z
  .strictObject({
    ticker: z.string().describe("Ticker of the network; `portfolio` for a joint network."),
    member: z.int().nonnegative().optional().describe("Index of the network in its ensemble, from 0."),
    epoch: z.int().positive().describe("Counted from 1."),
    train_loss: loss,
    validation_loss: loss,
  })
  .meta({ id: "EpochPoint" });

export type EpochPoint = z.infer<typeof epochPointSchema>;

/**
 * Epochs in the order in which they ended. If there are very many, an executor drops some evenly, but never the best or the last epoch of a
 * network.
 */
export const epochsSchema = z
  .strictObject({
    points: z.array(epochPointSchema).min(1),
    left_out: z
      .int()
      .positive()
      .optional()
      .describe("Number of epochs that ended in this time and are not listed."),
  })
  .meta({ id: "Epochs" });

export type Epochs = z.infer<typeof epochsSchema>;

/** How far a running operation is, in the units of its stage (bytes, fits or epochs; for an audit those of its check). */
export const progressSchema = z
  .strictObject({
    stage: mayGrow(z.enum(STAGES)),
    done: z.int().nonnegative(),
    total: z.int().nonnegative().nullable(),
    percent: z.number().min(0).max(100).optional(),
    seconds_left: z.int().nonnegative().optional().describe("At the stage's pace, once that is known."),
  })
  .meta({ id: "Progress" });

export const codeCountsSchema = z.record(z.string(), z.int().positive());

/** What an executor reports about a job since the last batch; empty parts are absent. */
export const eventBatchSchema = z.strictObject({
  /** The first ones of the attempt, as many as an answer lists; `failures` likewise. */
  warnings: z.array(warningSchema).min(1).optional(),
  failures: z.array(failureSchema).min(1).optional(),
  /** Counts by code of all warnings and failures of the attempt so far. */
  counts: z.strictObject({ warnings: codeCountsSchema, failures: codeCountsSchema }).optional(),
  epochs: epochsSchema.optional(),
  progress: progressSchema.optional(),
  summary: runSummarySchema.optional(),
});

export type EventBatch = Readonly<z.infer<typeof eventBatchSchema>>;
