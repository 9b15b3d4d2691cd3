import { z } from "zod";
import { COMPRESSIONS, DATE_FORMATS, INPUT_FORMATS } from "../config/input-formats.ts";

/** A flag in a query. */
const queryFlag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(),
);

/** The file parts of a multipart request. */
export const PREPARE_PARTS = ["prices", "features"] as const;

/** The parameters of `POST /v1/prepare`, which match the flags of `mucast prepare`. */
export const prepareQuery = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')
    .optional()
    .describe("In the names of the blobs; by default a digest."),
  start: z.iso.date().optional().describe("First date; features still use earlier prices."),
  end: z.iso.date().optional().describe("Last date."),
  learning_end: z.iso.date().optional().describe("Last date whose labels may be learned."),
  tickers: z.array(z.string()).min(1).optional().describe("All by default."),
  ticker: z.string().min(1).optional().describe("Of a file without tickers."),
  time_zone: z
    .string()
    .max(64)
    .optional()
    .describe("Of times of day, which are errors without it, such as Europe/Berlin."),
  date_format: z.enum(DATE_FORMATS).optional().describe("Of dates such as 3/4/2020."),
  only_features: queryFlag.optional().describe("Leaves out all features but those of the part `features`."),
  format: z.enum(INPUT_FORMATS).optional().describe("json by default."),
  compression: z.enum(COMPRESSIONS).optional().describe("Of Parquet; snappy by default."),
  float32: queryFlag.optional().describe("Writes features to Parquet as float32."),
});

export type PrepareQuery = z.infer<typeof prepareQuery>;

export const preparedBlobsSchema = z
  .strictObject({
    id: z.string().describe("In the names of both blobs."),
    feature_url: z.string().describe("Submit it as `feature_url`."),
    data_extractor_url: z.string().describe("Submit it as `data_extractor_url`."),
    tickers: z.array(z.string()).describe("The first tickers, at most 200."),
    ticker_count: z.int().nonnegative(),
    dates: z.int().nonnegative().describe("Number of dates."),
    start: z.string(),
    end: z.string(),
    learning_end: z.string().nullable(),
    features: z.array(z.string()).describe("The same for each ticker."),
    warnings: z
      .array(z.string())
      .describe("About data that a job may not be able to use; the first, at most 200."),
    warning_count: z.int().nonnegative(),
    written: z.boolean().describe("False if both blobs already existed with the same bytes."),
  })
  .meta({ id: "PreparedBlobs", title: "Prepared blobs" });

export type PreparedBlobs = z.infer<typeof preparedBlobsSchema>;
