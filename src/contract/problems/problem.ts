import { z } from "zod";
import { ERROR_TABLE, type ErrorCode } from "../errors/error-codes.ts";
import { MucastError } from "../errors/errors.ts";
import { boundedCopy, jsonBytes } from "../json/bounded-json.ts";
import { type CodeCounts, countCodes, MAX_LISTED, SIZES } from "../schema/answer-limits.ts";
import * as s from "../schema/open-schema.ts";

export const failureSchema = s.named(
  "Failure",
  "A ticker without forecasts, and why; the others are not affected.",
  { ticker: z.string(), code: z.string(), message: z.string() },
);

export type Failure = z.infer<typeof failureSchema>;

/** The message of a ticker's failure, preceded by the ticker; most messages already start with their ticker. */
export function namedFailure({ ticker, message }: Omit<Failure, "code">): string {
  const after = message.startsWith(ticker) ? message.charAt(ticker.length) : undefined;
  return after === " " || after === ":" ? message : `${ticker}: ${message}`;
}

/** Whether a job lost the ticker together with its engine's processes, which says nothing about its inputs. */
export function isCrash({ code }: Pick<Failure, "code">): boolean {
  return code === ("engine_crashed" satisfies ErrorCode);
}

/** The first ticker that was lost this way, for a job that has ended without an output; undefined for another error. */
export function crashIn(error: unknown): Failure | undefined {
  return error instanceof MucastError ? error.data.failures?.find(isCrash) : undefined;
}

export const codeCountsSchema = z.record(z.string(), s.positive()).meta({ id: "CodeCounts" });

const faultSchema = s.named("Fault", "One fault of a payload.", {
  path: z.string(),
  message: z.string(),
  suggestion: z.string().optional(),
});

/** RFC 9457 problem details of a failed operation or a refused request, at most SIZES.problem bytes. `ErrorData` lists further members. */
export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: s.mayGrow(z.enum(Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]])),
    detail: z.string(),
    advice: z.string(),
    path: z.string().optional(),
    faults: s.optionalList(faultSchema, "Every fault of a payload."),
    suggestion: z.string().optional(),
    accepted: s.optionalList(z.string()),
    failures: s.optionalList(failureSchema, "Why tickers failed; of many, the first."),
    failure_counts: s.optional(codeCountsSchema, "Of all that failed, how many by each code."),
  })
  .meta({ id: "Problem", title: "Problem details" });

export type Problem = z.infer<typeof problemSchema>;

/** An error that is not a MucastError is a defect of mucast, `internal`. */
export function problemOf(error: unknown): Problem {
  const known = error instanceof MucastError ? error : new MucastError("internal", String(error));
  const { status, title, advice } = known.entry;
  return boundedProblem({
    type: `urn:mucast:error:${known.code}`,
    title,
    status,
    code: known.code,
    detail: known.message,
    ...(known.data as Partial<Problem>),
    advice: known.data.advice ?? advice,
  });
}

/** Reserved bytes for the members of every problem, without its detail, and for the names of lists. */
const FRAME_BYTES = 2 * 2 ** 10;

/** The problem in SIZES.problem bytes: long texts are cut, the first failures are listed, and `failure_counts` counts all by code. */
export function boundedProblem(problem: Problem): Problem {
  const { type, title, status, code, detail, advice, failures, failure_counts, ...data } = problem;
  const frame = boundedCopy(
    { type, title, status, code, detail, advice },
    { bytes: SIZES.detail + FRAME_BYTES, text: SIZES.detail },
  ) as Problem;
  const room = SIZES.problem - SIZES.detail - 2 * FRAME_BYTES;
  const facts = boundedCopy(data, { bytes: room, text: SIZES.text })!;
  if (!Array.isArray(failures)) return { ...frame, ...facts };
  const listed = boundedCopy(failures.slice(0, MAX_LISTED), {
    bytes: Math.min(SIZES.list, room - jsonBytes(facts)),
    text: SIZES.text,
  });
  const counts = (failure_counts as CodeCounts | undefined) ?? countCodes(failures);
  return { ...frame, ...facts, failures: listed ?? [], failure_counts: counts };
}
