import { z } from "zod";
import { choiceCandidateSchema, choiceSchema } from "./choice.ts";
import { laterFiguresSchema } from "./metrics-schemas.ts";

/** The rows of outputs among which `mucast choose` chooses. */
export const CHOSEN_ROWS = ["out_of_fold", "score"] as const;
export type ChosenRows = (typeof CHOSEN_ROWS)[number];

/** What `mucast choose --json` prints: members as in an output's `choice`, with outputs as candidates. */
export const chosenOutputsSchema = z.strictObject({
  rows: z.enum(CHOSEN_ROWS),
  ...choiceSchema.pick({
    rule: true,
    measure: true,
    method: true,
    members: true,
    changes: true,
    honest: true,
    best: true,
    optimism: true,
    losses: true,
  }).shape,
  candidates: z.array(
    choiceCandidateSchema.omit({ settings: true, dropped_on: true }).extend({
      output: z.string().describe("The path, or the URL without a secret."),
      later: laterFiguresSchema
        .optional()
        .describe(
          "What the output's own order is worth on these rows at the first close after its forecasts.",
        ),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

export type ChosenOutputs = z.infer<typeof chosenOutputsSchema>;
