import { z } from "zod";
import * as s from "../schema/open-schema.ts";

const unendedSchema = z.strictObject({
  waiting: s.count("Number of queued operations."),
  running: s.count("Number of running operations."),
});

/** How busy the service is, and what the caller may do. About other callers it contains only totals. */
export const queueSchema = s.titled("Queue", "Queue", {
  waiting: s.count("Number of queued operations of all callers."),
  running: s.count("Number of running operations of all callers, over all services of the same database."),
  own: unendedSchema.describe("The caller's own operations."),
  service: z
    .strictObject({
      running: s.count("Number of jobs that it runs."),
      jobs: s.positive("Maximum number of jobs that it runs at the same time."),
      cores: s.nullable(
        z.strictObject({ used: s.count(), of: s.positive() }),
        "Cores of its machine that its jobs use; null if they run elsewhere.",
      ),
    })
    .describe("The service that answers this request."),
  scopes: s.list(s.mayGrow(z.enum(["read", "write", "admin"])), "What the caller may do."),
});

export type QueueView = z.infer<typeof queueSchema>;
