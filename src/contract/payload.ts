import { z } from "zod";

/** What both jobs take. In a job container the three are FEATURE_URL, DATA_EXTRACTOR_URL and CONFIG. */
export const payloadSchema = z
  .strictObject({
    feature_url: z.string().min(1).describe("The feature blob: {blob_url}/data/feature_engine_<id>.json"),
    data_extractor_url: z
      .string()
      .min(1)
      .describe("The data-extraction blob: {blob_url}/data/data_extractor_<id>.json"),
    config: z.looseObject({}).describe("Config of run_ml_job or run_dl_job; at most 32 KiB as JSON text."),
  })
  .meta({ id: "Payload", title: "Payload of run_ml_job and run_dl_job" });

export type Payload = z.infer<typeof payloadSchema>;
