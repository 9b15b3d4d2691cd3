import { z } from "zod";

/** A link that opens a report once. */
export const reportLinkSchema = z
  .strictObject({
    url: z.string().describe("Opens the report without credentials, once. Who has it may read the report."),
    expires_at: z.iso.datetime().describe("One minute after it was made."),
  })
  .meta({ id: "ReportLink", title: "Link to a report" });

export type ReportLink = z.infer<typeof reportLinkSchema>;
