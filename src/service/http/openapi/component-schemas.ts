import { z } from "zod";
import { dlConfigSchema } from "../../../contract/config/dl-settings.ts";
import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { mlConfigSchema } from "../../../contract/config/ml-settings.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
} from "../../../contract/config/payload-schemas.ts";
import { addDefault, openSchema } from "../../../contract/schema/open-schema.ts";

/** The payload schema of each operation, with the schema of its config. */
export const JOB_PAYLOADS = {
  run_ml_job: payloadSchema
    .extend({ config: mlConfigSchema })
    .meta({ id: "MlPayload", title: "Payload of run_ml_job" }),
  run_dl_job: payloadSchema
    .extend({ config: dlConfigSchema })
    .meta({ id: "DlPayload", title: "Payload of run_dl_job" }),
  audit: auditPayloadSchema,
  replay: replayPayloadSchema,
} as const satisfies Record<SubmittedOperation, unknown>;

/** Open: the job that reads a blob checks its content; the upload does not. */
export const inputBlobSchema = z.looseObject({}).meta({
  id: "InputBlob",
  description:
    "Prices or features, in one of the layouts of docs/blobs.md; another layout is a list of records.",
});

export const uploadedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as `feature_url` or `data_extractor_url`."),
    size: z.int().nonnegative().describe("Bytes."),
    etag: z.string().describe("As in the ETag header."),
  })
  .meta({ id: "UploadedBlob", title: "Uploaded blob" });

export type UploadedBlob = z.infer<typeof uploadedBlobSchema>;

type JsonSchema = Record<string, unknown>;
/** `input`: callers send it, and may omit members with a default. `output`: callers receive it. */
export type Direction = "input" | "output";

const PREFIX = "#/components/schemas/";

/** The named schemas of a document, by the name in their `.meta({ id })`, as its parts refer to them. */
export class ComponentSchemas {
  readonly all: Record<string, JsonSchema> = {};

  /** A reference to a named schema; the schema itself if it has no name. */
  refer(schema: z.ZodType, direction: Direction): JsonSchema {
    for (const [name, named] of Object.entries(namedSchemas(schema, direction))) {
      // Of one that callers both send and receive, what they receive.
      if (direction === "output" || this.all[name] === undefined) this.all[name] = named;
    }
    const name = schema.meta()?.id;
    if (name !== undefined) return { $ref: `${PREFIX}${name}` };
    const { $defs: _named, ...unnamed } = convert(schema, direction);
    return unnamed;
  }
}

/** A schema and the schemas that it refers to, by name, without those that have none. */
export function namedSchemas(schema: z.ZodType, direction: Direction = "output"): Record<string, JsonSchema> {
  const { $defs = {}, ...own } = convert(schema, direction);
  const name = schema.meta()?.id;
  // A recursive schema is also in $defs, and `own` is then only a reference to it.
  const all = { ...(name === undefined ? {} : { [name]: own }), ...($defs as Record<string, JsonSchema>) };
  return Object.fromEntries(Object.entries(all).map(([id, { id: _id, ...rest }]) => [id, rest]));
}

function convert(schema: z.ZodType, direction: Direction): JsonSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(
    direction === "output" ? openSchema(schema) : schema,
    {
      io: direction,
      override: ({ zodSchema, jsonSchema }) => {
        addDefault({ zodSchema, jsonSchema });
        // `format: date-time` says the same as the pattern.
        if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
        describeTuple(jsonSchema);
      },
    },
  ) as JsonSchema;
  return JSON.parse(JSON.stringify(json), (key, value) =>
    key === "$ref" && typeof value === "string" ? value.replace("#/$defs/", PREFIX) : value,
  );
}

/** Linters and generators of clients know only arrays whose elements share one schema. `minItems` and `maxItems` state the length. */
function describeTuple(schema: JsonSchema): void {
  if (!Array.isArray(schema.prefixItems)) return;
  const kinds = new Map(schema.prefixItems.map((kind) => [JSON.stringify(kind), kind]));
  schema.items = kinds.size === 1 ? schema.prefixItems[0] : { anyOf: [...kinds.values()] };
  delete schema.prefixItems;
}
