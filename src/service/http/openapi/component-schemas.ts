import { z } from "zod";
import { blobPageSchema } from "../../../contract/api/blob-page.ts";
import { forecastViewSchema } from "../../../contract/api/forecast-view.ts";
import {
  operationPageSchema,
  operationSchema,
  reportLinkSchema,
  verdictViewSchema,
} from "../../../contract/api/operation-view.ts";
import { preparedBlobsSchema } from "../../../contract/api/prepared-blobs.ts";
import { queueSchema } from "../../../contract/api/queue-view.ts";
import { snapshotSchema, storedEventSchema } from "../../../contract/api/stored-event.ts";
import { dlConfigSchema } from "../../../contract/config/dl-config.ts";
import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { mlConfigSchema } from "../../../contract/config/ml-config.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
} from "../../../contract/config/payload-schemas.ts";
import { progressSchema } from "../../../contract/output/job-events.ts";
import { outputBlobSchema } from "../../../contract/output/output-blob.ts";
import { resultRecordSchema } from "../../../contract/output/result-record.ts";
import { problemSchema } from "../../../contract/problems/problem.ts";
import { warningSchema } from "../../../contract/problems/warnings.ts";
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

/** The answer to an upload. */
export const uploadedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as `feature_url` or `data_extractor_url`."),
    size: z.int().nonnegative().describe("Bytes."),
    etag: z.string().describe("As in the ETag header."),
  })
  .meta({ id: "UploadedBlob", title: "Uploaded blob" });

export type UploadedBlob = z.infer<typeof uploadedBlobSchema>;

const SENT: readonly z.ZodType[] = [
  ...Object.values(JOB_PAYLOADS),
  mlConfigSchema,
  dlConfigSchema,
  inputBlobSchema,
];

const RECEIVED: readonly z.ZodType[] = [
  operationSchema,
  operationPageSchema,
  forecastViewSchema,
  verdictViewSchema,
  queueSchema,
  progressSchema,
  warningSchema,
  resultRecordSchema,
  problemSchema,
  storedEventSchema,
  snapshotSchema,
  outputBlobSchema,
  uploadedBlobSchema,
  preparedBlobsSchema,
  blobPageSchema,
  reportLinkSchema,
];

type JsonSchema = Record<string, unknown>;
/** `input`: callers send it, and may omit members with a default. `output`: callers receive it. */
export type Direction = "input" | "output";

const PREFIX = "#/components/schemas/";

/** Every named schema of the document, by the name in its `.meta({ id })`. */
export function componentSchemas(): Record<string, JsonSchema> {
  const sent = SENT.map((schema) => namedSchemas(schema, "input"));
  const received = RECEIVED.map((schema) => namedSchemas(schema, "output"));
  return Object.assign({}, ...sent, ...received);
}

/** A reference to a named schema; the schema itself if it has no name. */
export function referenceTo(schema: z.ZodType, direction: Direction): JsonSchema {
  const name = schema.meta()?.id;
  if (name !== undefined) return { $ref: `${PREFIX}${name}` };
  const { $defs: _named, ...unnamed } = converted(schema, direction);
  return unnamed;
}

/** A schema and the schemas that it refers to, by name. */
function namedSchemas(schema: z.ZodType, direction: Direction): Record<string, JsonSchema> {
  const { $defs = {}, ...own } = converted(schema, direction);
  // A recursive schema is also in $defs, and `own` is then only a reference to it.
  const all = { [schema.meta()!.id!]: own, ...($defs as Record<string, JsonSchema>) };
  return Object.fromEntries(Object.entries(all).map(([name, { id: _name, ...rest }]) => [name, rest]));
}

function converted(schema: z.ZodType, direction: Direction): JsonSchema {
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
