import { z } from "zod";
import { COMPRESSIONS, INPUT_FORMATS } from "../config/input-formats.ts";

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
    .describe("Id in the names of the blobs. Default: a digest of everything that the blobs depend on."),
  start: z.iso.date().optional().describe("First date to write. Features still use earlier prices."),
  end: z.iso.date().optional().describe("Last date to write."),
  learning_end: z.iso
    .date()
    .optional()
    .describe("Training cut-off: the last date whose labels may be used for training."),
  tickers: z.array(z.string()).min(1).optional().describe("Tickers to keep; all by default."),
  ticker: z.string().min(1).optional().describe("The security of a file without tickers."),
  time_zone: z
    .string()
    .max(64)
    .optional()
    .describe(
      "Zone in which times of day have their date, such as Europe/Berlin. Without it, they are errors.",
    ),
  only_features: queryFlag
    .optional()
    .describe("Leaves out the features that the service computes. Needs a part `features`."),
  format: z.enum(INPUT_FORMATS).optional().describe("Format of the blobs; json by default."),
  compression: z.enum(COMPRESSIONS).optional().describe("Compression of Parquet; snappy by default."),
  float32: queryFlag.optional().describe("Writes features to Parquet as float32; prices stay float64."),
});

export type PrepareQuery = z.infer<typeof prepareQuery>;

export const preparedBlobsSchema = z
  .strictObject({
    id: z.string().describe("Id in the names of both blobs."),
    feature_url: z.string().describe("Submit it as `feature_url`."),
    data_extractor_url: z.string().describe("Submit it as `data_extractor_url`."),
    tickers: z.array(z.string()).describe("The first tickers, at most 200."),
    ticker_count: z.int().nonnegative(),
    dates: z.int().nonnegative().describe("Number of dates."),
    start: z.string(),
    end: z.string(),
    learning_end: z.string().nullable(),
    features: z.array(z.string()).describe("Names of the features, the same for each ticker."),
    warnings: z
      .array(z.string())
      .describe("Warnings about data that a job may not be able to use; the first, at most 200."),
    warning_count: z.int().nonnegative(),
    written: z.boolean().describe("False if both blobs already existed with the same bytes."),
  })
  .meta({ id: "PreparedBlobs", title: "Prepared blobs" });

export type PreparedBlobs = z.infer<typeof preparedBlobsSchema>;
