import { z } from "zod";
import { staysExact } from "../schema/open-schema.ts";

/**
 * The answer of a job that succeeded; the command line writes exactly this to stdout. An audit or a replay succeeds whenever it
 * has a verdict, even a bad one.
 */
export const resultRecordSchema = staysExact(
  z
    .strictObject({
      status: z.literal("Succeeded"),
      output_url: z
        .string()
        .describe("URL of the output blob; for a job, the portfolio optimizer's input_url."),
      output_name: z.string().regex(/^(ml_engine|nn_engine|audit|replay)_[A-Za-z0-9_-]{1,64}\.json$/),
      execution_name: z.string().describe("The job's name and a unique suffix: dl-job-… or ml-worker-job-…"),
    })
    .meta({ id: "ResultRecord", title: "Result record" }),
);

export type ResultRecord = z.infer<typeof resultRecordSchema>;
