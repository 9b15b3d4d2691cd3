import { z } from "zod";
import { dlConfigSchema } from "../config/dl-config.ts";
import { mlConfigSchema } from "../config/ml-config.ts";
import { auditPayloadSchema, payloadSchema, replayPayloadSchema } from "../config/payload-schemas.ts";
import { auditBlobSchema } from "../output/audit-blob.ts";
import { outputBlobSchema } from "../output/output-blob.ts";
import { replayBlobSchema } from "../output/replay-blob.ts";
import { resultRecordSchema } from "../output/result-record.ts";
import { problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import { openSchema } from "../schema/open-schema.ts";

/**
 * Every published schema by name; `schemas/<name>.json` is generated from it. Schemas of what callers send are strict.
 * Schemas of what callers read accept members of a later version, except for the result record.
 */
export const PUBLISHED_SCHEMAS = {
  payload: payloadSchema,
  "audit-payload": auditPayloadSchema,
  "replay-payload": replayPayloadSchema,
  "ml-config": mlConfigSchema,
  "dl-config": dlConfigSchema,
  "result-record": resultRecordSchema,
  "output-blob": openSchema(outputBlobSchema),
  "audit-blob": openSchema(auditBlobSchema),
  "replay-blob": openSchema(replayBlobSchema),
  warning: openSchema(warningSchema),
  problem: openSchema(problemSchema),
} as const;

export type SchemaName = keyof typeof PUBLISHED_SCHEMAS;

/** JSON Schema (draft 2020-12) of one published schema; a field with a default is not required. */
export function jsonSchema(name: SchemaName): object {
  return z.toJSONSchema(PUBLISHED_SCHEMAS[name], { io: "input" });
}
