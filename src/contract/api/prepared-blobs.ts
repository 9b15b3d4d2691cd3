import { z } from "zod";

/** Of `POST /v1/prepare`: what `mucast prepare` has flags for. */
export const prepareQuery = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')
    .optional()
    .describe("Names the blobs; by default a digest of all that they depend on."),
  start: z.iso
    .date()
    .optional()
    .describe("First date that is written; earlier prices still feed the features."),
  end: z.iso.date().optional().describe("Last date that is written."),
  learning_end: z.iso.date().optional().describe("Last date whose labels may be learned."),
  tickers: z.array(z.string()).min(1).optional().describe("Only these; all by default."),
});

export type PrepareQuery = z.infer<typeof prepareQuery>;

/** What a price CSV has become. */
export const preparedBlobsSchema = z
  .strictObject({
    id: z.string().describe("In the names of both blobs."),
    feature_url: z.string().describe("To submit as `feature_url`."),
    data_extractor_url: z.string().describe("To submit as `data_extractor_url`."),
    tickers: z.array(z.string()).describe("The first of them, at most 200."),
    ticker_count: z.int().nonnegative(),
    dates: z.int().nonnegative().describe("How many dates there are."),
    start: z.string(),
    end: z.string(),
    learning_end: z.string().nullable(),
    features: z.array(z.string()).describe("Names, the same for each ticker."),
    warnings: z.array(z.string()).describe("What a job may not be able to use; the first, at most 200."),
    warning_count: z.int().nonnegative(),
    written: z.boolean().describe("False where both blobs were there before, with the same bytes."),
  })
  .meta({ id: "PreparedBlobs", title: "Prepared blobs" });

export type PreparedBlobs = z.infer<typeof preparedBlobsSchema>;
