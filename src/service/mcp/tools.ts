import type { StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import {
  API_OPERATIONS,
  type ApiOperation,
  type ApiOperationName,
  idempotencyKeySchema,
} from "../../contract/api/operations.ts";
import { EXAMPLE_CONFIGS } from "../../contract/config/example-configs.ts";
import { addDefault, openSchema } from "../../contract/schema/open-schema.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The JSON Schema of a zod schema without `$ref`, which not every model's host resolves.
 *
 * @param io `output` accepts fields of a newer service.
 */
function completeSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const {
    $schema: _,
    $defs: definitions = {},
    ...root
  } = z.toJSONSchema(io === "output" ? openSchema(schema) : schema, { io, override: addDefault }) as {
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
    // The pattern takes half a kilobyte and adds nothing to the format.
    return !(key === "pattern" && all.format === "date-time");
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, inlined(item, definitions)]));
}

/**
 * A published schema that accepts every value: callTool checks the arguments, so that their faults become a problem like all others.
 */
function publishedSchema(schema: JsonSchema): StandardSchemaWithJSON<Record<string, unknown>> {
  return {
    "~standard": {
      version: 1,
      vendor: "mucast",
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

/** An operation of the API as a tool of an agent. */
export interface ToolDefinition {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly inputSchema: ReturnType<typeof publishedSchema>;
  readonly outputSchema: ReturnType<typeof publishedSchema>;
}

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
      // A job is idempotent only with an idempotency_key.
      idempotentHint: !isJob,
      // A job reads blobs from other hosts.
      openWorldHint: isJob,
    },
    inputSchema: publishedSchema(completeSchema(isJob ? jobInput(name, input, config) : input, "input")),
    outputSchema: publishedSchema(completeSchema(output, "output")),
  };
}

function jobInput(name: string, input: z.ZodObject, config: z.ZodType): z.ZodObject {
  const text = z.string().describe("The same as JSON text, taken exactly as it is written.");
  const given = z.union([config, text]);
  const { config: described } = input.shape as { config: z.ZodType };
  return input.extend({
    // A replay usually takes the config that its output records.
    config: described.safeParse(undefined).success
      ? given.optional().describe(described.description!)
      : given.describe(
          `What to train. Leave out whatever should have its default; unknown keys are refused.${recommended(name)}`,
        ),
    idempotency_key: idempotencyKeySchema
      .optional()
      .describe(
        "Choose one for each job that you mean, such as a UUID: a call that is repeated with the same key and " +
          "arguments gives the operation it gave before and starts no second job.",
      ),
  });
}

/** The first example config of a job, as a sentence. */
function recommended(name: string): string {
  const example = EXAMPLE_CONFIGS.find(({ operation }) => operation === name);
  return example === undefined
    ? ""
    : ` For a hundred tickers or more, start from ${JSON.stringify(example.config)}`;
}
