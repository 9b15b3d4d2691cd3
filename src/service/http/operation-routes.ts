import { z } from "zod";
import { isEnded } from "../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { ignoreBodies } from "./body-text.ts";
import { departure } from "./departure.ts";
import { forecastRoute } from "./forecast-route.ts";
import type { HttpApp } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { answerOperation } from "./operation-answer.ts";
import { RUNNING, SUCCEEDED } from "./operation-examples.ts";
import { ownOrigin } from "./own-origin.ts";
import { waitOf } from "./prefer.ts";
import { jsonAnswer, problemAnswers } from "./route-docs.ts";
import { OPERATION_HEADERS, preferHeader } from "./shared-headers.ts";

const { get_operation, list_operations, cancel_operation } = API_OPERATIONS;

/** `GET /v1/operations`, `GET /v1/operations/{id}` and `POST /v1/operations/{id}/cancel`. */
export function operationRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  ignoreBodies(app);
  getRoute(app, options, closing);
  forecastRoute(app, options, closing);
  listRoute(app, options);
  cancelRoute(app, options);
}

function getRoute(app: HttpApp, { settings, operations }: HttpOptions, closing: AbortSignal): void {
  app.route({
    method: "GET",
    url: "/v1/operations/:id",
    config: { access: get_operation.scope },
    schema: {
      operationId: get_operation.name,
      summary: get_operation.title,
      description: get_operation.description,
      tags: ["Operations"],
      params: get_operation.input,
      headers: z.looseObject({ prefer: preferHeader }),
      response: {
        200: jsonAnswer("The operation as it is.", get_operation.output, SUCCEEDED, OPERATION_HEADERS),
        ...problemAnswers(get_operation.scope, ["not_found"]),
      },
    },
    handler: async (request, reply) => {
      const caller = request.caller!;
      const seconds = request.method === "HEAD" ? undefined : waitOf(request.headers.prefer);
      if (seconds !== undefined) reply.header("preference-applied", `wait=${seconds}`);
      const operation =
        seconds === undefined
          ? await operations.get(caller, request.params.id)
          : await operations.wait(caller, request.params.id, seconds, departure(reply, closing));
      return answerOperation(reply, operation, ownOrigin(settings, request), 200);
    },
  });
}

function listRoute(app: HttpApp, { operations }: HttpOptions): void {
  app.route({
    method: "GET",
    url: list_operations.path,
    config: { access: list_operations.scope },
    schema: {
      operationId: list_operations.name,
      summary: list_operations.title,
      description: list_operations.description,
      tags: ["Operations"],
      querystring: list_operations.input,
      response: {
        200: jsonAnswer("A page of operations.", list_operations.output, {
          operations: [SUCCEEDED, RUNNING],
          next_cursor: null,
        }),
        ...problemAnswers(list_operations.scope),
      },
    },
    handler: async ({ caller, query }) => operations.list(caller!, query),
  });
}

function cancelRoute(app: HttpApp, { settings, operations }: HttpOptions): void {
  app.route({
    method: "POST",
    url: "/v1/operations/:id/cancel",
    config: { access: cancel_operation.scope },
    schema: {
      operationId: cancel_operation.name,
      summary: cancel_operation.title,
      description: `${cancel_operation.description} No body is needed.`,
      tags: ["Operations"],
      params: cancel_operation.input,
      response: {
        200: jsonAnswer(
          "The operation, which has ended.",
          cancel_operation.output,
          SUCCEEDED,
          OPERATION_HEADERS,
        ),
        202: jsonAnswer(
          "The operation, which is still to stop.",
          cancel_operation.output,
          RUNNING,
          OPERATION_HEADERS,
        ),
        ...problemAnswers(cancel_operation.scope, ["not_found", "too_large"]),
      },
    },
    handler: async (request, reply) => {
      const operation = await operations.cancel(request.caller!, request.params.id);
      return answerOperation(
        reply,
        operation,
        ownOrigin(settings, request),
        isEnded(operation.status) ? 200 : 202,
      );
    },
  });
}
