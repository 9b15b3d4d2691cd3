import type { FastifyRequest } from "fastify";

/** A hook that makes a query parameter a list: Fastify parses one that occurs once as text. */
export function listParameter(name: string) {
  return async (request: FastifyRequest): Promise<void> => {
    const query = request.query as Record<string, unknown>;
    if (typeof query[name] === "string") query[name] = [query[name]];
  };
}
