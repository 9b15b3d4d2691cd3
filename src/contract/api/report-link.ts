import { z } from "zod";

/** A link that opens a report once. */
export const reportLinkSchema = z
  .strictObject({
    url: z
      .string()
      .describe("Opens the report once, without credentials. Anyone who has it can read the report."),
    expires_at: z.iso.datetime().describe("One minute after the link was created."),
  })
  .meta({ id: "ReportLink", title: "Link to a report" });

export type ReportLink = z.infer<typeof reportLinkSchema>;
