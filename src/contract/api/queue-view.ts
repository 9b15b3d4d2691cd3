import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";

const count = z.int().nonnegative();
const unendedSchema = z.strictObject({
  waiting: count.describe("Operations that wait to start."),
  running: count.describe("Operations that run."),
});

/** How busy the service is, and what the caller may do. Of other callers it has nothing but the totals. */
export const queueSchema = z
  .strictObject({
    waiting: count.describe("Operations of all callers that wait to start."),
    running: count.describe("Operations of all callers that run, on every service of the same database."),
    own: unendedSchema.describe("Those of the caller."),
    service: z
      .strictObject({
        running: count.describe("Jobs that it runs."),
        jobs: z.int().positive().describe("Most jobs that it runs at the same time."),
        cores: z
          .strictObject({ used: count, of: z.int().positive() })
          .nullable()
          .describe("Cores of its machine that its jobs have; null where they run elsewhere."),
      })
      .describe("The service that answers."),
    scopes: z.array(mayGrow(z.enum(["read", "write", "admin"]))).describe("What the caller may do."),
  })
  .meta({ id: "Queue", title: "Queue" });

export type QueueView = z.infer<typeof queueSchema>;
