import type { FastifyReply } from "fastify";
import { isEnded, type OperationView } from "../../contract/api/operation-view.ts";

const POLL_SECONDS = "1";

export function operationPath(id: string): string {
  return `/v1/operations/${id}`;
}

/** Answers with an operation: where it is found, and while it goes on, when to ask again. */
export function answerOperation(
  reply: FastifyReply,
  operation: OperationView,
  origin: string,
  status: 200 | 202,
): OperationView {
  reply.request.operationId = operation.id;
  const url = `${origin}${operationPath(operation.id)}`;
  reply.code(status).header("operation-location", url);
  if (status === 202) reply.header("location", url);
  if (status === 202 || !isEnded(operation.status)) reply.header("retry-after", POLL_SECONDS);
  return operation;
}
