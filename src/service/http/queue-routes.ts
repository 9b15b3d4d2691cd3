import { queueSchema } from "../../contract/api/queue-view.ts";
import { SCOPES } from "../auth/caller.ts";
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
        "Returns how many operations are queued and running, in total and for the caller, the cores for jobs, and the scopes of the caller. Other callers appear only in the totals.",
      tags: ["Operations"],
      response: { 200: jsonAnswer("The current state.", queueSchema, QUEUE), ...problemAnswers("read") },
    },
    handler: async ({ caller }) => ({
      ...(await operations.queue(caller!)),
      service: occupancy(),
      scopes: SCOPES.filter((scope) => caller!.scopes.has(scope)),
    }),
  });
}
