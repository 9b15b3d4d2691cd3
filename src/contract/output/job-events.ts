import { z } from "zod";
import { AUDIT_CHECKS } from "../config/payload-schemas.ts";
import { codeCountsSchema, type Failure, failureSchema, problemSchema } from "../problems/problem.ts";
import { type Warning, warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { laterFiguresSchema } from "./metrics-schemas.ts";
import { resultRecordSchema } from "./result-record.ts";
import { judgedRowsSchema, verdictStateSchema } from "./verdict.ts";

/** How the models of a job relate to tickers: one for each, or one for all (`pooled` for a regressor, `joint` for a network). */
export const FITS = ["per_ticker", "pooled", "joint"] as const;

/** The figures by which runs are compared. The job computes them once, from its verdict, and reports them before it writes its output. */
export const runSummarySchema = s.named(
  "RunSummary",
  "What the forecasts of a job are worth, in a few figures.",
  {
    model: s.text("Name of the model, the network or the choice, such as `choice among 7 candidates`."),
    fit: s.mayGrow(z.enum(FITS)),
    as_of: s.text("The date of the forecasts, YYYY-MM-DD."),
    tickers: s.count("Number of tickers with a forecast."),
    failed: s.count("Number of tickers that the job went on without."),
    verdict: s.nullable(
      z.strictObject({
        state: verdictStateSchema,
        title: s.text(),
        rows: judgedRowsSchema,
        dates: s.count(),
        ic: s.maybe(
          "The verdict's mean IC; null with fewer than 5 tickers, whose order is measured over time.",
        ),
        ic_low: s.maybe("Lower end of its 95 % band; null if it has no error, as with too few dates."),
        ic_high: s.maybe("Upper end of its 95 % band."),
        later: s.optional(
          laterFiguresSchema,
          "What the order of these rows is worth at the first close after the forecasts.",
        ),
        r2: s.maybe("R² against the zero forecast, with equal weight for each ticker."),
        coverage: s.maybe("Actual coverage of the intervals; null without intervals."),
        nominal_coverage: s.maybe("1 - alpha; null without intervals."),
      }),
      "The headline of the output's verdict; null if no ticker has a forecast to judge.",
    ),
  },
);

export type RunSummary = z.infer<typeof runSummarySchema>;

/** The steps of a job, in the order in which they start, and the checks of an audit. */
const STAGES = ["read", "fit", "evaluate", "write", ...AUDIT_CHECKS] as const;
export type Stage = (typeof STAGES)[number];

/**
 * How far a stage is. Counts are whole units of work:
 * - read: bytes.
 * - fit: fits of run_ml_job; epochs of run_dl_job, of every member of an ensemble. An epoch that early stopping saves counts as done when its network is.
 * - evaluate: tickers of each table.
 * - a check of an audit: its own units, such as jobs, blobs or tickers.
 */
export interface Progress extends Partial<Pick<EpochPoint, "ticker" | "member" | "epoch">> {
  readonly kind: "progress";
  readonly stage: Stage;
  readonly done: number;
  readonly total?: number;
  /** Losses of an epoch that has just ended. */
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

const epochPointSchema = s.named("EpochPoint", {
  ticker: s.text("Ticker of the network; `portfolio` for a joint network."),
  member: s.count().optional().describe("Index of the network in its ensemble, from 0."),
  epoch: s.positive("Counted from 1."),
  train_loss: loss,
  validation_loss: loss,
});

export type EpochPoint = z.infer<typeof epochPointSchema>;

/**
 * Epochs in the order in which they ended. If there are very many, an executor drops some evenly, but never the best or the last epoch of a
 * network.
 */
export const epochsSchema = s.named("Epochs", {
  points: z.array(epochPointSchema).min(1),
  left_out: s.positive().optional().describe("Number of epochs that ended in this time and are not listed."),
});

export type Epochs = z.infer<typeof epochsSchema>;

/** How far a running operation is, in the units of its stage (bytes, fits or epochs; for an audit those of its check). */
export const progressSchema = s.named("Progress", {
  stage: s.mayGrow(z.enum(STAGES)),
  done: s.count(),
  total: s.count().nullable(),
  percent: z.number().min(0).max(100).optional(),
  seconds_left: s.count().optional().describe("At the stage's pace, once that is known."),
});

/** What an executor reports about a job since the last batch; empty parts are absent. */
const eventBatchSchema = z.strictObject({
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

const timingSchema = z.strictObject({
  name: s.text(),
  /** Milliseconds since 1970. */
  start: z.number(),
  end: z.number(),
});

export type Timing = z.infer<typeof timingSchema>;

/**
 * `status/<id>.<attempt>.json`: the state of one attempt at a job, written by the job itself. The job rewrites all of it at most every few
 * seconds, and one last time when it ends.
 */
export const statusBlobSchema = s.named("StatusBlob", {
  schema: z.literal("mucast.status/1"),
  id: s.text(),
  attempt: s.positive(),
  config_sha256: s.text(),
  updated_at: z.iso.datetime(),
  progress: progressSchema.nullable(),
  /** The first warnings; `failures` likewise. The counts include all, by code. */
  warnings: z.array(warningSchema),
  warning_counts: codeCountsSchema.optional(),
  failures: s.optionalList(failureSchema),
  failure_counts: codeCountsSchema.optional(),
  /** Counts of the attempt so far. */
  epochs: epochsSchema.optional(),
  summary: runSummarySchema.optional(),
  timings: z.array(timingSchema),
  /** Null while the attempt is running. */
  end: s.nullable(
    z.union([z.strictObject({ record: resultRecordSchema }), z.strictObject({ problem: problemSchema })]),
  ),
});

export type StatusBlob = z.infer<typeof statusBlobSchema>;

/** @returns the key of an attempt's status blob beside `data/`. */
export function statusKey(id: string, attempt: number): string {
  return `status/${id}.${attempt}.json`;
}
