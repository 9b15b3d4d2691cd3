import { z } from "zod";
import { isEnded } from "../../../contract/api/operation-view.ts";
import { API_OPERATIONS, idempotencyKeySchema } from "../../../contract/api/operations.ts";
import { SUBMITTED_OPERATIONS } from "../../../contract/config/job-operations.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { JOB_PAYLOADS } from "../openapi/component-schemas.ts";
import { SUCCEEDED, WAITING } from "../openapi/examples.ts";
import { apiDocs, jsonAnswer } from "../openapi/route-docs.ts";
import { type HttpApp, type HttpOptions, publicOrigin } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { bodyText, readBodiesAsText } from "../server/request-body.ts";
import { answerOperation, OPERATION_HEADERS, parseWait, preferHeader } from "./operation-answer.ts";

const headers = z.looseObject({
  "idempotency-key": idempotencyKeySchema
    .optional()
    .describe(
      "Chosen by the caller, one per intended job, and kept as long as the operation: the same key and payload " +
        "give the same operation, however often they are sent.",
    ),
  prefer: preferHeader,
});

const PROBLEMS = [
  ...(["unknown_model", "invalid_model_params", "url_not_allowed", "idempotency_conflict"] as const),
  ...(["too_large", "quota_exceeded", "unsupported_media_type", "device_unavailable"] as const),
];

const LOCATION = { Location: { type: "string", description: "The same URL." } } as const;

/** `POST /v1/run_ml_job`, `/v1/run_dl_job`, `/v1/audit` and `/v1/replay`. */
export function jobRoutes(app: HttpApp, { settings, operations }: HttpOptions, closing: AbortSignal): void {
  readBodiesAsText(app);
  for (const operation of SUBMITTED_OPERATIONS) {
    const { path, scope, output } = API_OPERATIONS[operation];
    const queued = { ...WAITING, operation };
    app.route({
      method: "POST",
      url: path,
      config: { access: scope, problems: PROBLEMS },
      schema: {
        ...apiDocs(operation, "Jobs"),
        headers,
        body: JOB_PAYLOADS[operation],
        response: {
          202: jsonAnswer("The operation, which is queued or running.", output, queued, {
            ...OPERATION_HEADERS,
            ...LOCATION,
          }),
          200: jsonAnswer(
            "The operation, which ended within `Prefer: wait`.",
            output,
            SUCCEEDED,
            OPERATION_HEADERS,
          ),
        },
      },
      handler: async (request, reply) => {
        const caller = request.caller!;
        const origin = publicOrigin(settings, request);
        const { operation: submitted } = await operations.submit(caller, {
          operation,
          payload: bodyText(request),
          idempotencyKey: request.headers["idempotency-key"],
          traceparent: request.watched?.traceparent,
          origin,
        });
        const seconds = parseWait(request.headers.prefer);
        if (seconds === undefined) return answerOperation(reply, submitted, origin, 202);
        reply.header("preference-applied", `wait=${seconds}`);
        const signal = requestAbort(reply, closing);
        const waited = await operations.wait(caller, submitted.id, seconds, signal).catch((error) => {
          // The operation is stored: a caller without a key must not send it again.
          if (error instanceof MucastError && error.code === "unavailable") return submitted;
          throw error;
        });
        return answerOperation(reply, waited, origin, isEnded(waited.status) ? 200 : 202);
      },
    });
  }
}
