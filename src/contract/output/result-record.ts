import { z } from "zod";
import { staysExact } from "../schema/open-schema.ts";

/** The answer of a job that succeeded; the command line writes exactly this to stdout. */
export const resultRecordSchema = staysExact(
  z
    .strictObject({
      status: z.literal("Succeeded"),
      output_url: z.string().describe("Where the output blob is; the portfolio optimizer's input_url."),
      output_name: z.string().regex(/^(ml|nn)_engine_[A-Za-z0-9_-]{1,64}\.json$/),
      execution_name: z
        .string()
        .describe("The job's name and a suffix of its own: dl-job-… or ml-worker-job-…"),
    })
    .meta({ id: "ResultRecord", title: "Result record" }),
);

export type ResultRecord = z.infer<typeof resultRecordSchema>;
