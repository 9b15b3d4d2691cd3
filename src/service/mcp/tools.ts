import type { StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import { openSchema } from "../../contract/api/open-schema.ts";
import { API_OPERATIONS, type ApiOperation, type ApiOperationName } from "../../contract/api/operations.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * JSON Schema of a zod schema in one piece: not every model's host resolves `$ref`.
 *
 * @param io `output` is open to what a newer service may add.
 */
export function wholeSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const {
    $schema: _,
    $defs: definitions = {},
    ...root
  } = z.toJSONSchema(io === "output" ? openSchema(schema) : schema, { io }) as {
    $schema?: string;
    $defs?: Record<string, JsonSchema>;
  };
  return inlined(root, definitions) as JsonSchema;
}

const DEFINITION = /^#\/\$defs\/(.+)$/;

function inlined(value: unknown, definitions: Record<string, JsonSchema>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions));
  if (typeof value !== "object" || value === null) return value;
  const { $ref: reference, ...members } = value as Record<string, unknown>;
  const name = typeof reference === "string" ? DEFINITION.exec(reference)?.[1] : undefined;
  const all = name === undefined ? members : { ...definitions[name], ...members };
  const kept = Object.entries(all).filter(([key]) => {
    // Half a kilobyte that says nothing more than the format.
    return !(key === "pattern" && all.format === "date-time");
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, inlined(item, definitions)]));
}

/**
 * A schema that is shown as it is and lets everything through: arguments are checked where the tool is called, so
 * that their faults are told as a problem like all others.
 */
export function shownSchema(schema: JsonSchema): StandardSchemaWithJSON<Record<string, unknown>> {
  return {
    "~standard": {
      version: 1,
      vendor: "mucast",
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

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
