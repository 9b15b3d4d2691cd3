import { z } from "zod";
import { isEnded } from "../../../contract/api/operation-view.ts";
import { API_OPERATIONS, idempotencyKeySchema } from "../../../contract/api/operations.ts";
import { SUBMITTED_OPERATIONS, type SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { JOB_PAYLOADS } from "../openapi/component-schemas.ts";
import { SUCCEEDED, WAITING } from "../openapi/examples.ts";
import { jsonAnswer, problemAnswers } from "../openapi/route-docs.ts";
import { type HttpApp, type HttpOptions, publicOrigin } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { bodyText, readBodiesAsText } from "../server/request-bodies.ts";
import { answerOperation, OPERATION_HEADERS, preferHeader, waitOf } from "./operation-answer.ts";

const headersSchema = z.looseObject({
  "idempotency-key": idempotencyKeySchema
    .optional()
    .describe(
      "Chosen by the caller, one per intended job, and kept as long as the operation: the same key and payload " +
        "give the same operation, however often they are sent.",
    ),
  prefer: preferHeader,
});

/** `POST /v1/run_ml_job`, `/v1/run_dl_job`, `/v1/audit` and `/v1/replay`. */
export function jobRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  readBodiesAsText(app);
  for (const operation of SUBMITTED_OPERATIONS) jobRoute(app, operation, options, closing);
}

function jobRoute(
  app: HttpApp,
  operation: SubmittedOperation,
  options: HttpOptions,
  closing: AbortSignal,
): void {
  const { path, scope } = API_OPERATIONS[operation];
  app.route({
    method: "POST",
    url: path,
    config: { access: scope },
    schema: jobDocs(operation),
    handler: async (request, reply) => {
      const caller = request.caller!;
      const origin = publicOrigin(options.settings, request);
      const { operation: submitted } = await options.operations.submit(caller, {
        operation,
        payload: bodyText(request),
        idempotencyKey: request.headers["idempotency-key"],
        traceparent: request.watched?.traceparent,
        origin,
      });
      const seconds = waitOf(request.headers.prefer);
      if (seconds === undefined) return answerOperation(reply, submitted, origin, 202);
      reply.header("preference-applied", `wait=${seconds}`);
      const signal = requestAbort(reply, closing);
      const waited = await options.operations.wait(caller, submitted.id, seconds, signal);
      return answerOperation(reply, waited, origin, isEnded(waited.status) ? 200 : 202);
    },
  });
}

function jobDocs(operation: SubmittedOperation) {
  const { name, title, description, scope } = API_OPERATIONS[operation];
  return {
    operationId: name,
    summary: title,
    description,
    tags: ["Jobs"],
    headers: headersSchema,
    body: JOB_PAYLOADS[operation],
    response: {
      202: jsonAnswer(
        "The operation, which is queued or running.",
        API_OPERATIONS[operation].output,
        { ...WAITING, operation },
        {
          ...OPERATION_HEADERS,
          Location: { type: "string", description: "The same URL." },
        },
      ),
      200: jsonAnswer(
        "The operation, which ended within `Prefer: wait`.",
        API_OPERATIONS[operation].output,
        SUCCEEDED,
        {
          ...OPERATION_HEADERS,
        },
      ),
      ...problemAnswers(scope, [
        "unknown_model",
        "invalid_model_params",
        "url_not_allowed",
        "idempotency_conflict",
        "too_large",
        "quota_exceeded",
        "unsupported_media_type",
        "device_unavailable",
      ]),
    },
  };
}
