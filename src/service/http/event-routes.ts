import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import { isEnded } from "../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { emptyAnswer } from "./document.ts";
import { EVENTS } from "./examples.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";

const DESCRIPTION =
  "Server-sent events, numbered from 1 (`id`), each with its type (`event`) and an Event as one line of JSON (`data`). " +
  "A broken connection resumes after `Last-Event-ID`. If some later events are no longer kept, a `snapshot` with the operation " +
  "replaces them, and the kept events follow. A comment every 15 s keeps the connection open. The stream ends with the final event " +
  "(succeeded, failed or canceled) or when its API key is revoked. A request for events after the final one returns 204.";

const EVENT_SCHEMAS = ["Event", "Snapshot"].map((name) => ({ $ref: `#/components/schemas/${name}` }));

/** OpenAPI 3.1 describes a stream as text; `contentSchema` describes the events in it. */
const STREAM_SCHEMA = {
  type: "string",
  contentMediaType: "text/event-stream",
  contentSchema: {
    type: "array",
    items: {
      type: "object",
      required: ["id", "event", "data"],
      properties: {
        id: { type: "string", description: "`seq` of the event." },
        event: { type: "string", description: "`type` of the event." },
        data: {
          type: "string",
          contentMediaType: "application/json",
          contentSchema: { anyOf: EVENT_SCHEMAS },
        },
      },
    },
  },
};

const text = z.string().optional();
const inQuery = text.describe("The same as the header, for clients that cannot set headers.");
const inHeader = text.describe("`id` of the last event that you have received.");

export function eventRoutes(app: HttpApp, options: HttpOptions): void {
  const example = { value: EVENTS.map(eventText).join("") };
  const { settings, authenticate, log, operations, telemetry } = options;
  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/operations/:id/events",
    config: { access: "read", problems: ["not_found"] },
    schema: {
      operationId: "follow_operation",
      summary: "Follow the events of an operation",
      description: DESCRIPTION,
      tags: ["Operations"],
      params: API_OPERATIONS.get_operation.input,
      querystring: z.strictObject({ last_event_id: inQuery }),
      headers: z.looseObject({ "last-event-id": inHeader }),
      response: {
        200: {
          description: "The events after that one, then each new event as it happens.",
          content: { "text/event-stream": { schema: STREAM_SCHEMA, examples: { example } } },
        },
        204: emptyAnswer("The operation has ended and there are no events after that one."),
      },
    },
    handler: async (request, reply) => {
      const { headers, params, query } = request;
      const after = headers["last-event-id"] || query.last_event_id || "0";
      if (!/^\d{1,9}$/.test(after)) {
        const message = `Last-Event-ID must be the id of an event, got ${show(after)}`;
        throw new MucastError("invalid_request", message, { path: "Last-Event-ID" });
      }
      const { status } = await operations.get(request.caller!, params.id);
      if (request.method === "HEAD") return asStream(reply).send();
      const revoked = new AbortController();
      const signal = AbortSignal.any([reply.abortSignal(), revoked.signal]);
      const events = operations.follow(request.caller!, params.id, Number(after), signal);
      // 204 makes a browser stop reconnecting. After an empty stream it would reconnect forever.
      const first = isEnded(status) ? await events.next() : undefined;
      if (first?.done) return reply.code(204).send();
      async function* texts(): AsyncGenerator<string> {
        yield `retry: 2000\n\n`;
        if (first !== undefined) yield eventText(first.value!);
        for await (const event of events) {
          if (signal.aborted) return;
          yield eventText(event);
        }
      }
      const recordClose = telemetry.streamOpened();
      const stream = new PassThrough();
      // A reader that takes nothing would hold the events of the last portion.
      signal.addEventListener("abort", () => stream.writableNeedDrain && stream.destroy());
      const beat = setInterval(() => {
        if (!stream.writableNeedDrain) stream.write(":\n\n");
        // A token of an OIDC issuer is not checked again: it expires during a job that takes hours.
        if (settings.auth !== "keys") return;
        authenticate(headers.authorization).catch((error) => {
          // A database that cannot be reached does not revoke keys.
          if (error instanceof MucastError && error.code === "unauthorized") revoked.abort();
        });
      }, options.beatMilliseconds ?? 15_000);
      void pipeline(texts, stream)
        .catch((err: Error) => {
          if (!signal.aborted) log.warn({ operation_id: params.id, err }, "an event stream failed");
        })
        .finally(() => {
          clearInterval(beat);
          recordClose();
        });
      return asStream(reply).send(stream);
    },
  });
}

/** JSON text has no raw line breaks, so `data` is one line. */
function eventText(event: StoredEvent | Snapshot): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function asStream(reply: FastifyReply): FastifyReply {
  return reply.type("text/event-stream; charset=utf-8").headers({
    "cache-control": "no-store, no-transform",
    // Nginx and proxies like it would buffer the events.
    "x-accel-buffering": "no",
  });
}
