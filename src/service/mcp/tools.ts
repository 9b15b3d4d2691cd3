import type { ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import { API_OPERATIONS, type ApiOperation, type ApiOperationName } from "../../contract/api/operations.ts";
import { shownSchema, wholeSchema } from "./tool-schema.ts";

/** One operation as a tool of an agent. */
export interface ToolDefinition {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly inputSchema: ReturnType<typeof shownSchema>;
  readonly outputSchema: ReturnType<typeof shownSchema>;
}

/** The same as the header's rule over HTTP. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters");

export const TOOLS = Object.fromEntries(
  Object.values(API_OPERATIONS).map((operation) => [operation.name, toolOf(operation)]),
) as Readonly<Record<ApiOperationName, ToolDefinition>>;

function toolOf(operation: ApiOperation): ToolDefinition {
  const { title, description, method, name, config, input, output } = operation;
  const isJob = config !== undefined;
  return {
    title,
    description,
    annotations: {
      title,
      readOnlyHint: method === "GET",
      destructiveHint: name === "cancel_operation",
      // A job is one only with an idempotency_key.
      idempotentHint: !isJob,
      // It reads blobs from wherever their URLs point.
      openWorldHint: isJob,
    },
    inputSchema: shownSchema(wholeSchema(isJob ? jobInput(input, config) : input, "input")),
    outputSchema: shownSchema(wholeSchema(output, "output")),
  };
}

function jobInput(input: z.ZodObject, config: z.ZodType): z.ZodObject {
  const text = z.string().describe("The same as JSON text, taken exactly as it is written.");
  return input.extend({
    config: z
      .union([config, text])
      .describe("What to train. Leave out whatever should have its default; unknown keys are refused."),
    idempotency_key: idempotencyKeySchema
      .optional()
      .describe(
        "Choose one for each job that you mean, such as a UUID: a call that is repeated with the same key and " +
          "arguments gives the operation it gave before and starts no second job.",
      ),
  });
}
