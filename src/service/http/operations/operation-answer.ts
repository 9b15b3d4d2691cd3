import type { FastifyReply } from "fastify";
import { z } from "zod";
import { isEnded, type OperationView } from "../../../contract/api/operation-view.ts";
import type { HeaderDoc } from "../openapi/route-docs.ts";

const POLL_SECONDS = "1";
const MAX_WAIT_SECONDS = 60;

/** Answers with an operation. The headers have its URL and, until it has ended, the seconds until the next poll. */
export function answerOperation(
  reply: FastifyReply,
  operation: OperationView,
  origin: string,
  status: 200 | 202,
): OperationView {
  reply.request.operationId = operation.id;
  const url = `${origin}/v1/operations/${operation.id}`;
  reply.code(status).header("operation-location", url);
  if (status === 202) reply.header("location", url);
  if (status === 202 || !isEnded(operation.status)) reply.header("retry-after", POLL_SECONDS);
  return operation;
}

/** The seconds of `Prefer: wait=N` (RFC 7240), at most 60; undefined without it. A malformed or unknown preference has no effect. */
export function parseWait(prefer: string | undefined): number | undefined {
  // If there are several, the first applies (RFC 7240, section 2).
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[;,]|$)/i.exec(prefer ?? "")?.[1];
  return seconds === undefined ? undefined : Math.min(Number(seconds), MAX_WAIT_SECONDS);
}

export const preferHeader = z
  .string()
  .optional()
  .describe(
    "`wait=N`: the response waits up to N seconds, at most 60, for the operation to end (RFC 7240). " +
      "`Preference-Applied` confirms that it did.",
  );

export const OPERATION_HEADERS: Readonly<Record<string, HeaderDoc>> = {
  "Operation-Location": { type: "string", description: "Absolute URL of the operation." },
  "Retry-After": {
    type: "integer",
    description: "Seconds to wait before polling again, while the operation runs.",
  },
  "Preference-Applied": { type: "string", description: "`wait=N` if the response has waited." },
};
