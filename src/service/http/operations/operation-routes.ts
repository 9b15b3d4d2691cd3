import { z } from "zod";
import { forecastParams, forecastQuery, forecastViewSchema } from "../../../contract/api/forecast-view.ts";
import { isEnded } from "../../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../../contract/api/operations.ts";
import { FORECAST, ML_PAYLOAD, RUNNING, SUCCEEDED, VERDICT } from "../openapi/examples.ts";
import { apiDocs, jsonAnswer } from "../openapi/route-docs.ts";
import { type HttpApp, type HttpOptions, publicOrigin } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { discardBodies } from "../server/request-body.ts";
import { answerOperation, OPERATION_HEADERS, parseWait, preferHeader } from "./operation-answer.ts";

const { get_operation, list_operations, cancel_operation, get_forecast, get_verdict } = API_OPERATIONS;

const RESULT_PROBLEMS = [
  "not_found",
  "no_result",
  "other_result",
  "blob_unavailable",
  "invalid_data",
] as const;

/** `GET /v1/operations`; and below `/v1/operations/{id}` the operation, its forecast, verdict and payload, and `POST .../cancel`. */
export function operationRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  discardBodies(app);
  getRoute(app, options, closing);
  forecastRoute(app, options, closing);
  verdictRoute(app, options, closing);
  payloadRoute(app, options);
  listRoute(app, options);
  cancelRoute(app, options);
}

function getRoute(app: HttpApp, { settings, operations }: HttpOptions, closing: AbortSignal): void {
  app.route({
    method: "GET",
    url: "/v1/operations/:id",
    config: { access: get_operation.scope, problems: ["not_found"] },
    schema: {
      ...apiDocs("get_operation", "Operations"),
      params: get_operation.input,
      headers: z.looseObject({ prefer: preferHeader }),
      response: {
        200: jsonAnswer("The operation as it is.", get_operation.output, SUCCEEDED, OPERATION_HEADERS),
      },
    },
    handler: async (request, reply) => {
      const { caller, params } = request;
      const seconds = request.method === "HEAD" ? undefined : parseWait(request.headers.prefer);
      if (seconds !== undefined) reply.header("preference-applied", `wait=${seconds}`);
      const operation =
        seconds === undefined
          ? await operations.get(caller!, params.id)
          : await operations.wait(caller!, params.id, seconds, requestAbort(reply, closing));
      return answerOperation(reply, operation, publicOrigin(settings, request), 200);
    },
  });
}

function forecastRoute(app: HttpApp, { operations }: HttpOptions, closing: AbortSignal): void {
  app.route({
    method: "GET",
    url: "/v1/operations/:id/forecast",
    config: { access: get_forecast.scope, problems: [...RESULT_PROBLEMS, "unreadable_blob"] },
    schema: {
      ...apiDocs("get_forecast", "Operations", " Repeat `tickers` for each ticker."),
      params: forecastParams,
      querystring: forecastQuery,
      response: {
        200: jsonAnswer("What the output says of them.", forecastViewSchema, FORECAST),
      },
    },
    handler: async (request, reply) => {
      const { params, query } = request;
      request.operationId = params.id;
      return operations.forecast(request.caller!, { ...params, ...query }, requestAbort(reply, closing));
    },
  });
}

function verdictRoute(app: HttpApp, { operations }: HttpOptions, closing: AbortSignal): void {
  app.route({
    method: "GET",
    url: "/v1/operations/:id/verdict",
    config: { access: get_verdict.scope, problems: RESULT_PROBLEMS },
    schema: {
      ...apiDocs("get_verdict", "Operations"),
      params: get_verdict.input,
      response: {
        200: jsonAnswer("The verdict.", get_verdict.output, VERDICT),
      },
    },
    handler: async (request, reply) => {
      const { id } = request.params;
      request.operationId = id;
      return operations.verdict(request.caller!, id, requestAbort(reply, closing));
    },
  });
}

function payloadRoute(app: HttpApp, { operations }: HttpOptions): void {
  const anyPayload = z.looseObject({}).describe("The members of the payload of its operation.");
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
      response: {
        200: jsonAnswer("The payload.", anyPayload, ML_PAYLOAD),
      },
    },
    handler: async (request, reply) => {
      const { id } = request.params;
      request.operationId = id;
      const payload = await operations.payload(request.caller!, id);
      // The text itself, since a number such as 1.0 has to stay as its caller wrote it.
      return reply.type("application/json").send(payload);
    },
  });
}

function listRoute(app: HttpApp, { operations }: HttpOptions): void {
  app.route({
    method: "GET",
    url: list_operations.path,
    config: { access: list_operations.scope },
    schema: {
      ...apiDocs("list_operations", "Operations", " Repeat `tag` for each tag."),
      querystring: list_operations.input,
      response: {
        200: jsonAnswer("A page of operations.", list_operations.output, {
          operations: [SUCCEEDED, RUNNING],
          next_cursor: null,
        }),
      },
    },
    handler: async ({ caller, query }) => operations.list(caller!, query),
  });
}

function cancelRoute(app: HttpApp, { settings, operations }: HttpOptions): void {
  const { scope, input, output } = cancel_operation;
  app.route({
    method: "POST",
    url: "/v1/operations/:id/cancel",
    config: { access: scope, problems: ["not_found", "too_large"] },
    schema: {
      ...apiDocs("cancel_operation", "Operations", " No body is needed."),
      params: input,
      response: {
        200: jsonAnswer("The operation, which has ended.", output, SUCCEEDED, OPERATION_HEADERS),
        202: jsonAnswer("The operation, which is still to stop.", output, RUNNING, OPERATION_HEADERS),
      },
    },
    handler: async (request, reply) => {
      const operation = await operations.cancel(request.caller!, request.params.id);
      const status = isEnded(operation.status) ? 200 : 202;
      return answerOperation(reply, operation, publicOrigin(settings, request), status);
    },
  });
}
