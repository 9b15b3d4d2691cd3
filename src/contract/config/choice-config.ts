import { z } from "zod";
import * as s from "../schema/open-schema.ts";
import { LIMITS } from "./limits.ts";
import { FITS, panelFields, SCALERS } from "./panel-settings.ts";

/** What the chosen candidates forecast: the plain mean of those near the best, or the best alone. Our addition. */
export const CHOICE_RULES = ["mean", "best"] as const;
export type ChoiceRule = (typeof CHOICE_RULES)[number];

/** What compares candidates: their squared errors, or how well they order the tickers of a date. */
export const CHOICE_MEASURES = ["squared_error", "ic"] as const;
export type ChoiceMeasure = (typeof CHOICE_MEASURES)[number];

const rangeSchema = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, "must be [low, high] with low < high");

const drawSchema = z
  .strictObject({
    log: s.optional(
      rangeSchema.refine(([low]) => low > 0, "must be above 0 for log"),
      "[low, high]; the logarithm is uniform.",
    ),
    uniform: rangeSchema.optional().describe("[low, high]; the value is uniform."),
    int: s.optional(
      rangeSchema.refine((range) => range.every(Number.isSafeInteger), "must be integers"),
      "[low, high], both included; an integer is uniform.",
    ),
  })
  .refine(
    (spec) => Object.values(spec).filter((range) => range !== undefined).length === 1,
    "must have exactly one of log, uniform, int",
  )
  .meta({ id: "ChoiceDraw" });

export type DrawSpec = z.infer<typeof drawSchema>;

const label = s.optional(
  z
    .string()
    .min(1)
    .max(60)
    .regex(/^[\x20-\x7e]+$/, "must be printable ASCII"),
  "Name in tables; by default the model and the settings that differ.",
);
const panelMembers = {
  target: panelFields.target.removeDefault().optional(),
  cross_section: panelFields.cross_section.removeDefault().optional(),
};
const searchMembers = {
  grid: s.optional(
    z.record(z.string(), z.array(z.unknown()).min(1).max(LIMITS.candidates)),
    "Values by parameter; each combination is a candidate.",
  ),
  draws: s.integer(1, LIMITS.candidates).optional().describe("Number of random draws from `draw`."),
  draw: s.optional(
    z.record(z.string(), drawSchema).meta({ id: "ChoiceDraws" }),
    "Distributions by parameter; each of `draws` draws is a candidate.",
  ),
};

const candidateSchema = z.object({ label, ...panelMembers, ...searchMembers });
type CandidateSearch = z.infer<typeof candidateSchema>;

function searchRefined<T extends z.ZodType<CandidateSearch>>(schema: T): T {
  return schema
    .refine(({ draws, draw }) => (draws === undefined) === (draw === undefined), {
      error: "draws and draw belong together: give both or neither",
    })
    .refine(({ grid, draw }) => grid === undefined || draw === undefined, {
      error: "has both grid and draw; give them as two candidates",
    });
}

const choiceMembers = {
  rule: s.byDefault(
    z.enum(CHOICE_RULES).meta({ id: "ChoiceRule" }),
    "mean",
    "mean: the mean of the candidates within one standard error of the best. best: the best candidate alone.",
  ),
  measure: s.byDefault(
    z.enum(CHOICE_MEASURES).meta({ id: "ChoiceMeasure" }),
    "squared_error",
    "squared_error: the best has the smallest squared error. ic: the best has the largest mean IC over dates with at least 5 tickers.",
  ),
  seed: s.byDefault(s.integer(0, Number.MAX_SAFE_INTEGER), 42, "Seed of the draws."),
};

/** One entry of run_ml_job's `choice.candidates`. It inherits what it does not set. */
const mlCandidateSchema = searchRefined(
  z.strictObject({
    label,
    model: s.optional(z.string(), "The regressor; without it, that of `ML params` with its model_params."),
    model_params: z.record(z.string(), z.unknown()).optional(),
    ensemble: s.integer(1, LIMITS.ensemble).optional(),
    scaler: z.enum(SCALERS).optional(),
    fit: z.enum(FITS).optional(),
    ...panelMembers,
    ...searchMembers,
  }),
).meta({ id: "MlCandidate" });

export const mlChoiceSchema = s
  .named("MlChoice", {
    candidates: z.array(mlCandidateSchema).min(1).max(LIMITS.candidates),
    ...choiceMembers,
    warm_up: s.byDefault(
      s.integer(0, LIMITS.nSplits),
      15,
      "Further folds before the n_splits folds; they only serve the choice.",
    ),
  })
  .describe("Tries several candidates, of which `ML params` itself is the first. Our addition.");

const section = z.record(z.string(), z.unknown());

/** One entry of run_dl_job's `choice.candidates`. It inherits what it does not set; its sections are merged into those of the config. */
const dlCandidateSchema = searchRefined(
  z.strictObject({
    label,
    "current option": s.optional(z.string(), "The network; without it, that of the config."),
    training_params: section.optional(),
    data_processing: section.optional(),
    models_params: z.record(z.string(), section).optional(),
    ...panelMembers,
    ...searchMembers,
  }),
).meta({ id: "DlCandidate" });

export const dlChoiceSchema = s
  .named("DlChoice", {
    candidates: z.array(dlCandidateSchema).min(1).max(LIMITS.candidates),
    ...choiceMembers,
  })
  .describe("Tries several candidates, of which `Dot prediction` itself is the first. Our addition.");

export type CandidateEntry = CandidateSearch &
  Partial<Pick<z.infer<typeof mlCandidateSchema>, "scaler" | "fit">>;
