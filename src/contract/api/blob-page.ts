import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";
import { queryCount } from "./forecast-view.ts";
import { preparedBlobsSchema } from "./prepared-blobs.ts";

/** What a stored blob contains. */
export const BLOB_KINDS = ["features", "prices", "output"] as const;
export type BlobKind = (typeof BLOB_KINDS)[number];

/** The parameters of `GET /v1/data`. */
export const blobListQuery = z.strictObject({
  kind: z.enum(BLOB_KINDS).optional().describe("Only blobs of this kind."),
  limit: queryCount(100).default(20).describe("Maximum number of blobs on a page."),
  cursor: z.string().max(200).optional().describe("next_cursor of the previous page."),
});

export type BlobListQuery = z.infer<typeof blobListQuery>;

/** What a preparation knows about the contents of both its blobs. */
export const blobContentsSchema = preparedBlobsSchema.pick({
  ticker_count: true,
  dates: true,
  start: true,
  end: true,
});

export type BlobContents = z.infer<typeof blobContentsSchema>;

export const storedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as an input, or to read."),
    kind: mayGrow(z.enum(BLOB_KINDS)).describe("What the blob contains, by its name."),
    size: z.int().nonnegative().nullable().describe("Bytes; null if unknown."),
    created_at: z.iso
      .datetime()
      .describe("When the blob was stored or replaced. UTC, ISO 8601 with milliseconds."),
    ...blobContentsSchema.partial().shape,
  })
  .meta({
    id: "StoredBlob",
    description:
      "Blobs that `POST /v1/prepare` has stored also have their number of tickers and dates, and the first and the last date.",
  });

export type StoredBlobView = z.infer<typeof storedBlobSchema>;

export const blobPageSchema = z
  .strictObject({
    blobs: z.array(storedBlobSchema),
    next_cursor: z
      .string()
      .nullable()
      .describe("Use it as `cursor` to get the next page; null on the last page."),
  })
  .meta({ id: "BlobPage" });

export type BlobPage = z.infer<typeof blobPageSchema>;
