import { z } from "zod";
import { dlConfigSchema } from "../config/dl-settings.ts";
import { SUBMITTED_OPERATIONS, type SubmittedOperation } from "../config/job-operations.ts";
import { TAG_LIMITS } from "../config/limits.ts";
import { mlConfigSchema } from "../config/ml-settings.ts";
import { architecturesOf } from "../config/networks.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
  tagSchema,
  validatePayloadSchema,
} from "../config/payload-schemas.ts";
import { MODELS } from "../model-params/models.ts";
import * as s from "../schema/open-schema.ts";
import { forecastInput, forecastViewSchema, queryCount } from "./forecast-view.ts";
import { jobPreviewSchema } from "./job-preview.ts";
import {
  OPERATION_STATUSES,
  operationPageSchema,
  operationSchema,
  verdictViewSchema,
} from "./operation-view.ts";

/** One operation of the API. The HTTP routes, the OpenAPI document and the MCP tools are made from this table. */
export interface ApiOperation {
  /** operationId of OpenAPI, name of the MCP tool. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly scope: "read" | "write";
  /** The fields of the path, the query and the body in one object. */
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly config?: z.ZodType;
}

export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters");

const byId = z.strictObject({
  id: s.operationId("Id of the operation, as returned by run_ml_job, run_dl_job, audit or replay."),
});

const listInput = z.strictObject({
  status: z.enum(OPERATION_STATUSES).optional().describe("Only operations in this state."),
  operation: z.enum(SUBMITTED_OPERATIONS).optional().describe("Only operations of this kind."),
  tag: s.optional(z.array(tagSchema).max(TAG_LIMITS.tags), "Only operations that have all of these tags."),
  limit: queryCount(100).default(20).describe("Maximum number of operations on a page."),
  cursor: z.string().max(200).optional().describe("next_cursor of the previous page."),
});

const ASYNCHRONOUS =
  "The call is asynchronous: it returns an operation with an `id` and the status NotStarted. Call get_operation until its " +
  "status is Succeeded, Failed or Canceled. `result.output_url` is then the URL of the output blob with `mu`, and get_forecast " +
  "returns a summary of it. The output is written exactly once. An invalid payload is refused immediately, with every " +
  "error, its path and what to do.";

const VERDICT =
  "The call is asynchronous, like a job: it returns an operation to follow with get_operation. Once it has Succeeded, the verdict " +
  "is the blob at `result.output_url`, and get_verdict returns it.";

/** The config of either job; the jobs themselves have its complete schema. */
const anyConfigSchema = z.looseObject({});

function submission<N extends SubmittedOperation, I extends z.ZodObject>(
  name: N,
  title: string,
  description: string,
  input: I,
  config: z.ZodType,
) {
  const path = `/v1/${name}` as const;
  const request = { method: "POST", path, scope: "write" } as const;
  return { name, title, description, ...request, input, output: operationSchema, config };
}

function lookup<N extends string, P extends string, I extends z.ZodObject, O extends z.ZodObject>(
  name: N,
  below: P,
  title: string,
  description: string,
  input: I,
  output: O,
) {
  const path = `/v1/operations${below}` as const;
  return { name, title, description, method: "GET", path, scope: "read", input, output } as const;
}

export const API_OPERATIONS = {
  run_ml_job: submission(
    "run_ml_job",
    "Train classical regressors",
    `Trains regressors, one per ticker or one for all (${MODELS.map(({ name }) => name)
      .join(", ")
      .replace(/, (\w+)$/, " or $1")}) ` + `and forecasts the next-day log-return of each. ${ASYNCHRONOUS}`,
    payloadSchema,
    mlConfigSchema,
  ),
  run_dl_job: submission(
    "run_dl_job",
    "Train neural networks",
    `Trains a network per ticker (${architecturesOf({ joint: false }).join(", ")}) or one for all tickers ` +
      `(${architecturesOf({ joint: true }).join(", ")}) and forecasts the next-day log-return of each. ${ASYNCHRONOUS}`,
    payloadSchema,
    dlConfigSchema,
  ),
  validate_job: {
    name: "validate_job",
    method: "POST",
    path: "/v1/validate",
    scope: "write",
    title: "Preview a job without running it",
    description:
      "Takes the payload of a job, reads both blobs and returns what the job would do: its rows, tickers, fits and warnings, and a " +
      "rough estimate of the cost. If the job would fail before it trains, the error is the same. It stores nothing.",
    input: validatePayloadSchema,
    output: jobPreviewSchema,
    config: anyConfigSchema,
  },
  audit: submission(
    "audit",
    "Check the inputs of a job for look-ahead",
    "Takes the payload of a job and checks whether its features contain later information. It cuts both blobs after several " +
      "dates and runs the job on them (truncation), compares them with the blobs of an earlier day (restatement), tests each " +
      "feature against later returns (foresight), and ranks the IC among the ICs of permuted labels (skill). It takes as long as " +
      `several jobs. ${VERDICT} Findings do not make the operation fail.`,
    auditPayloadSchema,
    anyConfigSchema,
  ),
  replay: submission(
    "replay",
    "Run the job of an output again and compare the bytes",
    "Reads an output of run_ml_job or run_dl_job, finds its inputs by their digests, runs its job again in a temporary " +
      `folder, and compares both documents byte for byte. It takes as long as one job. ${VERDICT} The operation does not fail if the ` +
      "output differs or cannot be replayed.",
    replayPayloadSchema,
    anyConfigSchema,
  ),
  get_operation: lookup(
    "get_operation",
    "/{id}",
    "Get an operation",
    "Returns the status, progress and warnings, and at the end the result record or the problem with advice. You can poll " +
      "every few seconds.",
    byId,
    operationSchema,
  ),
  get_forecast: lookup(
    "get_forecast",
    "/{id}/forecast",
    "Get the forecast of an operation",
    "For an operation that Succeeded: mu, the next-day log-return, of the named tickers or of the tickers with the largest " +
      "|mu|, with the metrics and interval coverage of each ticker and of all tickers together, and the baselines to compare " +
      "them with. The whole output is the blob named `output_name`.",
    forecastInput,
    forecastViewSchema,
  ),
  get_verdict: lookup(
    "get_verdict",
    "/{id}/verdict",
    "Get the verdict of an audit or a replay",
    "For an audit or a replay that Succeeded: its verdict with every finding or difference, and what to do about it. The verdict " +
      "is the blob named `output_name`.",
    byId,
    verdictViewSchema,
  ),
  list_operations: lookup(
    "list_operations",
    "",
    "List operations, newest first",
    "Returns the caller's own operations, one page at a time, optionally filtered by status, kind or tags.",
    listInput,
    operationPageSchema,
  ),
  cancel_operation: {
    name: "cancel_operation",
    method: "POST",
    path: "/v1/operations/{id}/cancel",
    scope: "write",
    title: "Cancel an operation",
    description:
      "Cancels an operation. If it has not started, it becomes Canceled immediately. If it is running, it stays Running until " +
      "it has stopped. If it has ended, it is returned unchanged, so you can repeat the call safely.",
    input: byId,
    output: operationSchema,
  },
} as const satisfies Record<string, ApiOperation>;

export type ApiOperationName = keyof typeof API_OPERATIONS;
