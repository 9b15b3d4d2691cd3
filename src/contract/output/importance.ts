import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";
import { testMethodSchema } from "./test-method.ts";

const maybe = z.number().nullable();

/** The member `permutation_importance` of an output of run_ml_job. Our addition. */
export const permutationImportanceSchema = z
  .strictObject({
    form: mayGrow(z.enum(["cross_section", "time_series"])),
    dates: z.int().nonnegative().describe("Dates that count."),
    figure: maybe.describe(
      "Mean RankIC of the out-of-fold forecasts, before shrinkage, over dates with at least 5 tickers; with fewer than 30 such dates, the order over time, as in `verdict`.",
    ),
    quantile: maybe.describe(
      "The t that a single group exceeds by chance in 5 % of cases; null if there are too few dates.",
    ),
    method: testMethodSchema,
    groups: z
      .array(
        z.strictObject({
          features: z.array(z.string()).min(1).describe("Features that are shuffled together."),
          correlation: z
            .number()
            .optional()
            .describe(
              "Mean absolute rank correlation between the two parts of the group that were merged last: below 0.7 only with more than 50 groups, or for a feature and its z-score. Absent for a single feature.",
            ),
          loss: maybe.describe("`figure` minus the same with these features shuffled."),
          t: maybe.describe("t of the loss over dates."),
        }),
      )
      .describe("Largest loss first."),
  })
  .meta({
    id: "PermutationImportance",
    description:
      "run_ml_job with importance: how much order the out-of-fold forecasts lose if a group of features is shuffled.",
  });

export type OutputImportance = z.infer<typeof permutationImportanceSchema>;
