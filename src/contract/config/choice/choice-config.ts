import { z } from "zod";
import { SCALERS } from "../intervals.ts";
import { LIMITS } from "../limits.ts";
import { crossSectionSchema, FITS, targetSchema } from "../panel-settings.ts";

/** What the chosen candidates forecast: the plain mean of those near the best, or the best alone. Our addition. */
export const CHOICE_RULES = ["mean", "best"] as const;
export type ChoiceRule = (typeof CHOICE_RULES)[number];

/** What compares candidates: their squared errors, or how well they order the tickers of a date. */
export const CHOICE_MEASURES = ["squared_error", "ic"] as const;
export type ChoiceMeasure = (typeof CHOICE_MEASURES)[number];

const rangeSchema = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, "must be [low, high] with low < high");

const positiveRangeSchema = rangeSchema.refine(([low]) => low > 0, "must be above 0 for log");
const integerRangeSchema = rangeSchema.refine(
  (range) => range.every(Number.isSafeInteger),
  "must be integers",
);

/** The distribution of one drawn parameter: exactly one of its members is given. */
const drawSchema = z
  .strictObject({
    log: positiveRangeSchema.optional().describe("[low, high]; the logarithm is uniform."),
    uniform: rangeSchema.optional().describe("[low, high]; the value is uniform."),
    int: integerRangeSchema.optional().describe("[low, high], both included; an integer is uniform."),
  })
  .refine(
    (spec) => Object.values(spec).filter((range) => range !== undefined).length === 1,
    "must have exactly one of log, uniform, int",
  )
  .meta({ id: "ChoiceDraw" });

export type DrawSpec = z.infer<typeof drawSchema>;

/** Several settings of one candidate: every combination of a grid, or random draws. */
const searchShape = {
  grid: z
    .record(z.string(), z.array(z.unknown()).min(1).max(LIMITS.candidates))
    .optional()
    .describe("Values by parameter; each combination is a candidate."),
  draws: z.int().min(1).max(LIMITS.candidates).optional().describe("Number of random draws from `draw`."),
  draw: z
    .record(z.string(), drawSchema)
    .optional()
    .describe("Distributions by parameter; each of `draws` draws is a candidate."),
};

const SEARCH_FAULTS = [
  {
    isAtFault: ({ draws, draw }: CandidateSearch) => (draws === undefined) !== (draw === undefined),
    message: "draws and draw belong together: give both or neither",
  },
  {
    isAtFault: ({ grid, draw }: CandidateSearch) => grid !== undefined && draw !== undefined,
    message: "has both grid and draw; give them as two candidates",
  },
] as const;

export interface CandidateSearch {
  readonly grid?: Readonly<Record<string, readonly unknown[]>> | undefined;
  readonly draws?: number | undefined;
  readonly draw?: Readonly<Record<string, DrawSpec>> | undefined;
}

function searchRefined<T extends z.ZodType<CandidateSearch>>(schema: T): T {
  return SEARCH_FAULTS.reduce(
    (refined, { isAtFault, message }) => refined.refine((value) => !isAtFault(value), { error: message }),
    schema,
  );
}

/** Settings of both jobs' `choice` besides the candidates. */
const choiceShape = {
  rule: z
    .enum(CHOICE_RULES)
    .default("mean")
    .describe(
      "mean: the mean of the candidates within one standard error of the best. best: the best candidate alone.",
    ),
  measure: z
    .enum(CHOICE_MEASURES)
    .default("squared_error")
    .describe(
      "squared_error: the best has the smallest squared error. ic: the best has the largest mean IC over dates with at least 5 tickers.",
    ),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(42).describe("Seed of the draws."),
};

const labelSchema = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[\x20-\x7e]+$/, "must be printable ASCII")
  .optional()
  .describe("Name in tables; by default the model and the settings that differ.");

/** One entry of run_ml_job's `choice.candidates`. It inherits what it does not set. */
const mlCandidateSchema = searchRefined(
  z.strictObject({
    label: labelSchema,
    model: z
      .string()
      .optional()
      .describe("The regressor; without it, that of `ML params` with its model_params."),
    model_params: z.record(z.string(), z.unknown()).optional(),
    scaler: z.enum(SCALERS).optional(),
    fit: z.enum(FITS).optional(),
    target: targetSchema.removeDefault().optional(),
    cross_section: crossSectionSchema.removeDefault().optional(),
    ...searchShape,
  }),
).meta({ id: "MlCandidate" });

export type MlCandidate = z.infer<typeof mlCandidateSchema>;

export const mlChoiceSchema = z
  .strictObject({
    candidates: z.array(mlCandidateSchema).min(1).max(LIMITS.candidates),
    ...choiceShape,
    warm_up: z
      .int()
      .min(0)
      .max(LIMITS.nSplits)
      .default(15)
      .describe("Further folds before the n_splits folds; they only serve the choice."),
  })
  .meta({ id: "MlChoice" })
  .describe("Tries several candidates, of which `ML params` itself is the first. Our addition.");

export type MlChoice = z.infer<typeof mlChoiceSchema>;

/** One entry of run_dl_job's `choice.candidates`. It inherits what it does not set; its sections are merged into those of the config. */
const dlCandidateSchema = searchRefined(
  z.strictObject({
    label: labelSchema,
    "current option": z.string().optional().describe("The network; without it, that of the config."),
    training_params: z.record(z.string(), z.unknown()).optional(),
    data_processing: z.record(z.string(), z.unknown()).optional(),
    models_params: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    target: targetSchema.removeDefault().optional(),
    cross_section: crossSectionSchema.removeDefault().optional(),
    ...searchShape,
  }),
).meta({ id: "DlCandidate" });

export type DlCandidate = z.infer<typeof dlCandidateSchema>;

export const dlChoiceSchema = z
  .strictObject({ candidates: z.array(dlCandidateSchema).min(1).max(LIMITS.candidates), ...choiceShape })
  .meta({ id: "DlChoice" })
  .describe("Tries several candidates, of which `Dot prediction` itself is the first. Our addition.");

export type DlChoice = z.infer<typeof dlChoiceSchema>;
