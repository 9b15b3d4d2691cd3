import { z } from "zod";

const loss = z.number().nullable().describe("On scaled returns; null where it is not finite.");

/** What one epoch of a network's training gave. */
export const epochPointSchema = z
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
