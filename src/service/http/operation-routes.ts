import type { FastifyReply } from "fastify";
import { z } from "zod";
import { forecastParams, forecastQuery, forecastViewSchema } from "../../contract/api/forecast-view.ts";
import { isEnded, type OperationView, operationSchema } from "../../contract/api/operation-view.ts";
import { API_OPERATIONS, idempotencyKeySchema } from "../../contract/api/operations.ts";
import { dlConfigSchema } from "../../contract/config/dl-settings.ts";
import { SUBMITTED_OPERATIONS, type SubmittedOperation } from "../../contract/config/job-operations.ts";
import { mlConfigSchema } from "../../contract/config/ml-settings.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
  validatePayloadSchema,
} from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { apiDocs, header, jsonAnswer } from "./document.ts";
import { FORECAST, ML_PAYLOAD, PREVIEW, RUNNING, SUCCEEDED, VERDICT, WAITING } from "./examples.ts";
import { acceptBodies, bodyText, type HttpApp, type HttpOptions } from "./http-app.ts";

const { validate_job, get_operation, list_operations, cancel_operation, get_forecast, get_verdict } =
  API_OPERATIONS;

export const JOB_PAYLOADS = {
  run_ml_job: payloadSchema
    .extend({ config: mlConfigSchema })
    .meta({ id: "MlPayload", title: "Payload of run_ml_job" }),
  run_dl_job: payloadSchema
    .extend({ config: dlConfigSchema })
    .meta({ id: "DlPayload", title: "Payload of run_dl_job" }),
  audit: auditPayloadSchema,
  replay: replayPayloadSchema,
} as const satisfies Record<SubmittedOperation, unknown>;

const PREFER =
  "`wait=N`: the response waits up to N seconds, at most 60, for the operation to end (RFC 7240). " +
  "`Preference-Applied` confirms that it did.";
const preferHeader = z.string().optional().describe(PREFER);

const OPERATION_HEADERS = {
  "Operation-Location": header("Absolute URL of the operation."),
  "Retry-After": header("Seconds to wait before polling again, while the operation runs.", "integer"),
  "Preference-Applied": header("`wait=N` if the response has waited."),
};
const LOCATION = { Location: header("The same URL.") };

function operationDocs(description: string, example: OperationView, headers = {}) {
  return jsonAnswer(description, operationSchema, example, { ...OPERATION_HEADERS, ...headers });
}

/** The seconds of `Prefer: wait=N` (RFC 7240), at most 60; undefined without it. A malformed or unknown preference has no effect. */
function parseWait(prefer: string | undefined): number | undefined {
  // If there are several, the first applies (RFC 7240, section 2).
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[;,]|$)/i.exec(prefer ?? "")?.[1];
  return seconds === undefined ? undefined : Math.min(Number(seconds), 60);
}

function answerOperation(reply: FastifyReply, operation: OperationView, status: 200 | 202): OperationView {
  reply.request.operationId = operation.id;
  const url = `${reply.request.publicOrigin}/v1/operations/${operation.id}`;
  reply.code(status).header("operation-location", url);
  if (status === 202) reply.header("location", url);
  if (status === 202 || !isEnded(operation.status)) reply.header("retry-after", "1");
  return operation;
}

const submissionHeaders = z.looseObject({
  "idempotency-key": idempotencyKeySchema
    .optional()
    .describe(
      "Chosen by the caller, one per intended job, and kept as long as the operation: the same key and payload " +
        "give the same operation, however often they are sent.",
    ),
  prefer: preferHeader,
});

const PAYLOAD_PROBLEMS = [
  ...(["unknown_model", "invalid_model_params", "url_not_allowed"] as const),
  ...(["too_large", "unsupported_media_type", "device_unavailable"] as const),
];
const SUBMISSION_PROBLEMS = [...PAYLOAD_PROBLEMS, "idempotency_conflict", "quota_exceeded"] as const;
const PREVIEW_PROBLEMS = [
  ...PAYLOAD_PROBLEMS,
  ...(["blob_not_found", "blob_unavailable", "unreadable_blob", "invalid_data", "output_failed"] as const),
  ...(["insufficient_history", "sparse_prices", "few_tickers", "constant_target", "no_forecast"] as const),
  ...(["all_failed", "timed_out", "process_lost"] as const),
];

export function jobRoutes(app: HttpApp, { operations }: HttpOptions): void {
  for (const operation of SUBMITTED_OPERATIONS) {
    const { path, scope } = API_OPERATIONS[operation];
    app.route({
      method: "POST",
      url: path,
      config: { access: scope, problems: SUBMISSION_PROBLEMS },
      schema: {
        ...apiDocs(operation, "Jobs"),
        headers: submissionHeaders,
        body: JOB_PAYLOADS[operation],
        response: {
          202: operationDocs(
            "The operation, which is queued or running.",
            { ...WAITING, operation },
            LOCATION,
          ),
          200: operationDocs("The operation, which ended within `Prefer: wait`.", SUCCEEDED),
        },
      },
      handler: async (request, reply) => {
        const caller = request.caller!;
        const { operation: submitted } = await operations.submit(caller, {
          operation,
          payload: bodyText(request),
          idempotencyKey: request.headers["idempotency-key"],
          traceparent: request.traceparent,
          origin: request.publicOrigin,
        });
        const seconds = parseWait(request.headers.prefer);
        if (seconds === undefined) return answerOperation(reply, submitted, 202);
        reply.header("preference-applied", `wait=${seconds}`);
        const waiting = operations.wait(caller, submitted.id, seconds, reply.abortSignal());
        const waited = await waiting.catch((error) => {
          // The operation is stored: a caller without a key must not send it again.
          if (error instanceof MucastError && error.code === "unavailable") return submitted;
          throw error;
        });
        return answerOperation(reply, waited, isEnded(waited.status) ? 200 : 202);
      },
    });
  }
  app.route({
    method: "POST",
    url: validate_job.path,
    config: { access: validate_job.scope, problems: PREVIEW_PROBLEMS },
    schema: {
      ...apiDocs("validate_job", "Jobs"),
      body: validatePayloadSchema,
      response: { 200: jsonAnswer("What the job would do.", validate_job.output, PREVIEW) },
    },
    handler: (request, reply) => {
      const sent = { payload: bodyText(request), origin: request.publicOrigin };
      return operations.validate(request.caller!, sent, reply.abortSignal());
    },
  });
}

const PAGE = { operations: [SUCCEEDED, RUNNING], next_cursor: null };
const RESULT_PROBLEMS = [
  ...(["not_found", "no_result", "other_result", "blob_unavailable", "invalid_data"] as const),
];

const anyPayloadSchema = z.looseObject({}).describe("The members of the payload of its operation.");

export function operationRoutes(app: HttpApp, { operations }: HttpOptions): void {
  acceptBodies(app, "discard");
  app.route({
    method: "GET",
    url: "/v1/operations/:id",
    config: { access: get_operation.scope, problems: ["not_found"] },
    schema: {
      ...apiDocs("get_operation", "Operations"),
      params: get_operation.input,
      headers: z.looseObject({ prefer: preferHeader }),
      response: { 200: operationDocs("The operation as it is.", SUCCEEDED) },
    },
    handler: async (request, reply) => {
      const { caller, params } = request;
      const seconds = request.method === "HEAD" ? undefined : parseWait(request.headers.prefer);
      if (seconds === undefined) return answerOperation(reply, await operations.get(caller!, params.id), 200);
      reply.header("preference-applied", `wait=${seconds}`);
      const waited = await operations.wait(caller!, params.id, seconds, reply.abortSignal());
      return answerOperation(reply, waited, 200);
    },
  });
  app.route({
    method: "GET",
    url: "/v1/operations/:id/forecast",
    config: { access: get_forecast.scope, problems: [...RESULT_PROBLEMS, "unreadable_blob"] },
    schema: {
      ...apiDocs("get_forecast", "Operations", " Repeat `tickers` for each ticker."),
      params: forecastParams,
      querystring: forecastQuery,
      response: { 200: jsonAnswer("What the output says of them.", forecastViewSchema, FORECAST) },
    },
    handler: ({ caller, params, query }, reply) =>
      operations.forecast(caller!, { ...params, ...query }, reply.abortSignal()),
  });
  app.route({
    method: "GET",
    url: "/v1/operations/:id/verdict",
    config: { access: get_verdict.scope, problems: RESULT_PROBLEMS },
    schema: {
      ...apiDocs("get_verdict", "Operations"),
      params: get_verdict.input,
      response: { 200: jsonAnswer("The verdict.", get_verdict.output, VERDICT) },
    },
    handler: ({ caller, params: { id } }, reply) => operations.verdict(caller!, id, reply.abortSignal()),
  });
  app.route({
    method: "GET",
    url: "/v1/operations/:id/payload",
    config: { access: "read", problems: ["not_found"] },
    schema: {
      operationId: "get_payload",
      summary: "Get the payload of an operation",
      description:
        "Returns the payload with which the operation was submitted, to submit it again, also after the operation has ended. Queries " +
        "of URLs and sections of other services in the config are left out, and so is a config that contains the signature of a URL.",
      tags: ["Operations"],
      params: get_operation.input,
      response: { 200: jsonAnswer("The payload.", anyPayloadSchema, ML_PAYLOAD) },
    },
    // The text itself, since a number such as 1.0 has to stay as its caller wrote it.
    handler: async ({ caller, params: { id } }, reply) =>
      reply.type("application/json").send(await operations.payload(caller!, id)),
  });
  app.route({
    method: "GET",
    url: list_operations.path,
    config: { access: list_operations.scope },
    schema: {
      ...apiDocs("list_operations", "Operations", " Repeat `tag` for each tag."),
      querystring: list_operations.input,
      response: { 200: jsonAnswer("A page of operations.", list_operations.output, PAGE) },
    },
    handler: ({ caller, query }) => operations.list(caller!, query),
  });
  app.route({
    method: "POST",
    url: "/v1/operations/:id/cancel",
    config: { access: cancel_operation.scope, problems: ["not_found", "too_large"] },
    schema: {
      ...apiDocs("cancel_operation", "Operations", " No body is needed."),
      params: cancel_operation.input,
      response: {
        200: operationDocs("The operation, which has ended.", SUCCEEDED),
        202: operationDocs("The operation, which is still to stop.", RUNNING),
      },
    },
    handler: async (request, reply) => {
      const operation = await operations.cancel(request.caller!, request.params.id);
      return answerOperation(reply, operation, isEnded(operation.status) ? 200 : 202);
    },
  });
}
