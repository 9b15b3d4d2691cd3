import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { openSchema } from "../../contract/api/open-schema.ts";

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
