import { z } from "zod";
import { COMPRESSIONS, DATE_FORMATS, INPUT_FORMATS } from "../config/input-formats.ts";
import * as s from "../schema/open-schema.ts";
import { queryCount } from "./forecast-view.ts";

const queryFlag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(),
);

export const PREPARE_PARTS = ["prices", "features"] as const;

/** The parameters of `POST /v1/prepare`, which match the flags of `mucast prepare`. */
export const prepareQuery = z.strictObject({
  id: s.optional(
    z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
    "In the names of the blobs; by default a digest.",
  ),
  start: z.iso.date().optional().describe("First date; features still use earlier prices."),
  end: z.iso.date().optional().describe("Last date."),
  learning_end: z.iso.date().optional().describe("Last date whose labels may be learned."),
  tickers: z.array(s.text()).min(1).optional().describe("All by default."),
  ticker: z.string().min(1).optional().describe("Of a file without tickers."),
  time_zone: s.optional(
    z.string().max(64),
    "Of times of day, which are errors without it, such as Europe/Berlin.",
  ),
  date_format: z.enum(DATE_FORMATS).optional().describe("Of dates such as 3/4/2020."),
  only_features: queryFlag.optional().describe("Leaves out all features but those of the part `features`."),
  format: z.enum(INPUT_FORMATS).optional().describe("json by default."),
  compression: z.enum(COMPRESSIONS).optional().describe("Of Parquet; snappy by default."),
  float32: queryFlag.optional().describe("Writes features to Parquet as float32."),
});

export type PrepareQuery = z.infer<typeof prepareQuery>;

export const preparedBlobsSchema = s.titled("PreparedBlobs", "Prepared blobs", {
  id: s.text("In the names of both blobs."),
  feature_url: s.text("Submit it as `feature_url`."),
  data_extractor_url: s.text("Submit it as `data_extractor_url`."),
  tickers: s.list(s.text(), "The first tickers, at most 200."),
  ticker_count: s.count(),
  dates: s.count("Number of dates."),
  start: s.text(),
  end: s.text(),
  learning_end: s.textOrNull(),
  features: s.list(s.text(), "The same for each ticker."),
  warnings: s.list(s.text(), "About data that a job may not be able to use; the first, at most 200."),
  warning_count: s.count(),
  written: s.flag("False if both blobs already existed with the same bytes."),
});

export type PreparedBlobs = z.infer<typeof preparedBlobsSchema>;

export const BLOB_KINDS = ["features", "prices", "output"] as const;
export type BlobKind = (typeof BLOB_KINDS)[number];

export const blobListQuery = z.strictObject({
  kind: z.enum(BLOB_KINDS).optional().describe("Only blobs of this kind."),
  limit: queryCount(100).default(20).describe("Maximum number of blobs on a page."),
  cursor: z.string().max(200).optional().describe("next_cursor of the previous page."),
});

export type BlobListQuery = z.infer<typeof blobListQuery>;

const blobContentsSchema = preparedBlobsSchema.pick({
  ticker_count: true,
  dates: true,
  start: true,
  end: true,
});

export type BlobContents = z.infer<typeof blobContentsSchema>;

const storedBlobSchema = s.named(
  "StoredBlob",
  "Blobs that `POST /v1/prepare` has stored also have their number of tickers and dates, and the first and the last date.",
  {
    name: s.text(),
    url: s.text("To submit as an input, or to read."),
    kind: s.mayGrow(z.enum(BLOB_KINDS)).describe("What the blob contains, by its name."),
    size: s.count().nullable().describe("Bytes; null if unknown."),
    created_at: z.iso
      .datetime()
      .describe("When the blob was stored or replaced. UTC, ISO 8601 with milliseconds."),
    ...blobContentsSchema.partial().shape,
  },
);

export type StoredBlobView = z.infer<typeof storedBlobSchema>;

export const blobPageSchema = s.named("BlobPage", {
  blobs: z.array(storedBlobSchema),
  next_cursor: s.textOrNull("Use it as `cursor` to get the next page; null on the last page."),
});

export type BlobPage = z.infer<typeof blobPageSchema>;
