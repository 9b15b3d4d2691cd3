import { z } from "zod";

/** What an upload answers. */
export const uploadedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as `feature_url` or `data_extractor_url`."),
    size: z.int().nonnegative().describe("Bytes."),
    etag: z.string().describe("As in the ETag header."),
  })
  .meta({ id: "UploadedBlob", title: "Uploaded blob" });

export type UploadedBlob = z.infer<typeof uploadedBlobSchema>;
