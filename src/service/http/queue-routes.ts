import { queueSchema } from "../../contract/api/queue-view.ts";
import { SCOPES } from "../operations/operations.ts";
import { QUEUE } from "./openapi/examples.ts";
import { jsonAnswer, problemAnswers } from "./openapi/route-docs.ts";
import type { HttpApp, HttpOptions } from "./server/http-app.ts";

/** `GET /v1/queue`. */
export function queueRoutes(
  app: HttpApp,
  { operations, occupancy }: Pick<HttpOptions, "operations" | "occupancy">,
): void {
  app.route({
    method: "GET",
    url: "/v1/queue",
    config: { access: "read" },
    schema: {
      operationId: "get_queue",
      summary: "How busy the service is",
      description:
        "How many operations wait and run, those of the caller apart, the cores that jobs have, and the scopes of the caller. Of other callers it has the totals alone.",
      tags: ["Operations"],
      response: { 200: jsonAnswer("As it is now.", queueSchema, QUEUE), ...problemAnswers("read") },
    },
    handler: async ({ caller }) => ({
      ...(await operations.queue(caller!)),
      service: occupancy(),
      scopes: SCOPES.filter((scope) => caller!.scopes.has(scope)),
    }),
  });
}
