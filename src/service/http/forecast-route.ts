import { forecastParams, forecastQuery, forecastViewSchema } from "../../contract/api/forecast-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { departure } from "./departure.ts";
import type { HttpApp } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { FORECAST } from "./operation-examples.ts";
import { jsonAnswer, problemAnswers } from "./route-docs.ts";

const { get_forecast } = API_OPERATIONS;

/** `GET /v1/operations/{id}/forecast`. */
export function forecastRoute(app: HttpApp, { operations }: HttpOptions, closing: AbortSignal): void {
  app.route({
    method: "GET",
    url: "/v1/operations/:id/forecast",
    config: { access: get_forecast.scope },
    schema: {
      operationId: get_forecast.name,
      summary: get_forecast.title,
      description: `${get_forecast.description} Name \`tickers\` once for each of them.`,
      tags: ["Operations"],
      params: forecastParams,
      querystring: forecastQuery,
      response: {
        200: jsonAnswer("What the output says of them.", forecastViewSchema, FORECAST),
        ...problemAnswers(get_forecast.scope, [
          "not_found",
          "no_result",
          "blob_unavailable",
          "unreadable_blob",
          "invalid_data",
        ]),
      },
    },
    preValidation: async (request) => {
      const query = request.query as { tickers?: unknown };
      // One name alone comes as text.
      if (typeof query.tickers === "string") query.tickers = [query.tickers];
    },
    handler: async (request, reply) => {
      const { params, query } = request;
      request.operationId = params.id;
      return operations.forecast(request.caller!, { ...params, ...query }, departure(reply, closing));
    },
  });
}
