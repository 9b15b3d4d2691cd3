import { z } from "zod";
import { dlConfigSchema } from "../config/dl-settings.ts";
import { SUBMITTED_OPERATIONS } from "../config/job-operations.ts";
import { TAG_LIMITS } from "../config/limits.ts";
import { mlConfigSchema } from "../config/ml-settings.ts";
import { architecturesOf } from "../config/networks/networks.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
  tagSchema,
} from "../config/payload-schemas.ts";
import { MODELS } from "../model-params/models.ts";
import { forecastInput, forecastViewSchema, queryCount } from "./forecast-view.ts";
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
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .describe("Id of the operation, as returned by run_ml_job, run_dl_job, audit or replay."),
});

const listInput = z.strictObject({
  status: z.enum(OPERATION_STATUSES).optional().describe("Only operations in this state."),
  operation: z.enum(SUBMITTED_OPERATIONS).optional().describe("Only operations of this kind."),
  tag: z
    .array(tagSchema)
    .max(TAG_LIMITS.tags)
    .optional()
    .describe("Only operations that have all of these tags."),
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

function alternatives(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

export const API_OPERATIONS = {
  run_ml_job: {
    name: "run_ml_job",
    title: "Train classical regressors",
    description:
      `Trains regressors, one per ticker or one for all (${alternatives(MODELS.map(({ name }) => name))}) ` +
      `and forecasts the next-day log-return of each. ${ASYNCHRONOUS}`,
    method: "POST",
    path: "/v1/run_ml_job",
    scope: "write",
    input: payloadSchema,
    output: operationSchema,
    config: mlConfigSchema,
  },
  run_dl_job: {
    name: "run_dl_job",
    title: "Train neural networks",
    description:
      `Trains a network per ticker (${architecturesOf({ joint: false }).join(", ")}) or one for all tickers ` +
      `(${architecturesOf({ joint: true }).join(", ")}) and forecasts the next-day log-return of each. ${ASYNCHRONOUS}`,
    method: "POST",
    path: "/v1/run_dl_job",
    scope: "write",
    input: payloadSchema,
    output: operationSchema,
    config: dlConfigSchema,
  },
  audit: {
    name: "audit",
    title: "Check the inputs of a job for look-ahead",
    description:
      "Takes the payload of a job and checks whether its features contain later information. It cuts both blobs after several " +
      "dates and runs the job on them (truncation), compares them with the blobs of an earlier day (restatement), tests each " +
      "feature against later returns (foresight), and ranks the IC among the ICs of permuted labels (skill). It takes as long as " +
      `several jobs. ${VERDICT} Findings do not make the operation fail.`,
    method: "POST",
    path: "/v1/audit",
    scope: "write",
    input: auditPayloadSchema,
    output: operationSchema,
    config: anyConfigSchema,
  },
  replay: {
    name: "replay",
    title: "Run the job of an output again and compare the bytes",
    description:
      "Reads an output of run_ml_job or run_dl_job, finds its inputs by their digests, runs its job again in a temporary " +
      `folder, and compares both documents byte for byte. It takes as long as one job. ${VERDICT} The operation does not fail if the ` +
      "output differs or cannot be replayed.",
    method: "POST",
    path: "/v1/replay",
    scope: "write",
    input: replayPayloadSchema,
    output: operationSchema,
    config: anyConfigSchema,
  },
  get_operation: {
    name: "get_operation",
    title: "Get an operation",
    description:
      "Returns the status, progress and warnings, and at the end the result record or the problem with advice. You can poll " +
      "every few seconds.",
    method: "GET",
    path: "/v1/operations/{id}",
    scope: "read",
    input: byId,
    output: operationSchema,
  },
  get_forecast: {
    name: "get_forecast",
    title: "Get the forecast of an operation",
    description:
      "For an operation that Succeeded: mu, the next-day log-return, of the named tickers or of the tickers with the largest " +
      "|mu|, with the metrics and interval coverage of each ticker and of all tickers together, and the baselines to compare " +
      "them with. The whole output is the blob named `output_name`.",
    method: "GET",
    path: "/v1/operations/{id}/forecast",
    scope: "read",
    input: forecastInput,
    output: forecastViewSchema,
  },
  get_verdict: {
    name: "get_verdict",
    title: "Get the verdict of an audit or a replay",
    description:
      "For an audit or a replay that Succeeded: its verdict with every finding or difference, and what to do about it. The verdict " +
      "is the blob named `output_name`.",
    method: "GET",
    path: "/v1/operations/{id}/verdict",
    scope: "read",
    input: byId,
    output: verdictViewSchema,
  },
  list_operations: {
    name: "list_operations",
    title: "List operations, newest first",
    description:
      "Returns the caller's own operations, one page at a time, optionally filtered by status, kind or tags.",
    method: "GET",
    path: "/v1/operations",
    scope: "read",
    input: listInput,
    output: operationPageSchema,
  },
  cancel_operation: {
    name: "cancel_operation",
    title: "Cancel an operation",
    description:
      "Cancels an operation. If it has not started, it becomes Canceled immediately. If it is running, it stays Running until " +
      "it has stopped. If it has ended, it is returned unchanged, so you can repeat the call safely.",
    method: "POST",
    path: "/v1/operations/{id}/cancel",
    scope: "write",
    input: byId,
    output: operationSchema,
  },
} as const satisfies Record<string, ApiOperation>;

export type ApiOperationName = keyof typeof API_OPERATIONS;
