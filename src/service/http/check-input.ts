import type { FastifySchemaCompiler } from "fastify";
import type { z } from "zod";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";

/** What paths of faults begin with, by the part of a request. */
const ROOTS: Readonly<Record<string, string>> = { params: "path", querystring: "query", headers: "headers" };

/**
 * Checks path, query and headers by their zod schemas, with faults in the words of all others. Bodies are JSON text
 * here, which is checked where it is understood.
 */
export const checkInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const root = ROOTS[httpPart ?? ""];
  if (root === undefined) return (value) => ({ value });
  return (input) => {
    const checked = schema.safeParse(input);
    if (checked.success) return { value: checked.data };
    return { error: invalidRequest(faultsOf(checked.error, schema, root, input)) };
  };
};
