import { z } from "zod";
import { boundedProblem } from "./bounded-problem.ts";
import { ERROR_TABLE, type ErrorCode } from "./error-codes.ts";
import { MucastError } from "./errors.ts";
import { mayGrow } from "./open-schema.ts";
import { failureSchema } from "./output-blob.ts";

const faultSchema = z
  .strictObject({
    path: z.string(),
    message: z.string(),
    suggestion: z.string().optional(),
  })
  .meta({ id: "Fault", description: "One fault of a payload." });

/** RFC 9457 problem details, as failed operations and refused requests carry them; `ErrorData` says what may be added. Its size is bounded. */
export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: mayGrow(z.enum(Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]])),
    detail: z.string(),
    advice: z.string(),
    path: z.string().optional(),
    faults: z.array(faultSchema).optional().describe("Every fault of a payload."),
    suggestion: z.string().optional(),
    accepted: z.array(z.string()).optional(),
    failures: z.array(failureSchema).optional().describe("Why tickers failed; of many, the first."),
    failure_counts: z
      .record(z.string(), z.int().nonnegative())
      .optional()
      .describe("Of all that failed, how many by each code."),
  })
  .meta({ id: "Problem", title: "Problem details" });

export type Problem = z.infer<typeof problemSchema>;

/**
 * @returns the problem of `error`; what is not a MucastError is a defect of ours, `internal`. Of many failures it has the
 *   first, and their counts by code.
 */
export function problemOf(error: unknown): Problem {
  const known = error instanceof MucastError ? error : new MucastError("internal", String(error));
  const { status, title, advice } = known.entry;
  return boundedProblem({
    type: `urn:mucast:error:${known.code}`,
    title,
    status,
    code: known.code,
    detail: known.message,
    advice,
    ...(known.data as Partial<Problem>),
  });
}
