import { z } from "zod";
import { dlConfigSchema } from "../config/dl-settings.ts";
import type { ExampleConfig } from "../config/example-configs.ts";
import type { SubmittedOperation } from "../config/job-operations.ts";
import { mlConfigSchema } from "../config/ml-settings.ts";
import { auditPayloadSchema, payloadSchema, replayPayloadSchema } from "../config/payload-schemas.ts";
import { auditBlobSchema } from "../output/audit-blob.ts";
import { outputBlobSchema } from "../output/output-blob.ts";
import { replayBlobSchema } from "../output/replay-blob.ts";
import { resultRecordSchema } from "../output/result-record.ts";
import { problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { jobPreviewSchema } from "./job-preview.ts";

/**
 * Every published schema by name; `schemas/<name>.json` is generated from it. Schemas of what callers send are strict; those of what they
 * read accept members of a later version, except for the result record.
 */
export const PUBLISHED_SCHEMAS = {
  payload: payloadSchema,
  "audit-payload": auditPayloadSchema,
  "replay-payload": replayPayloadSchema,
  "ml-config": mlConfigSchema,
  "dl-config": dlConfigSchema,
  "job-preview": s.openSchema(jobPreviewSchema),
  "result-record": resultRecordSchema,
  "output-blob": s.openSchema(outputBlobSchema),
  "audit-blob": s.openSchema(auditBlobSchema),
  "replay-blob": s.openSchema(replayBlobSchema),
  warning: s.openSchema(warningSchema),
  problem: s.openSchema(problemSchema),
} as const;

export type SchemaName = keyof typeof PUBLISHED_SCHEMAS;

/** JSON Schema (draft 2020-12) of one published schema; a field with a default is not required. */
export function jsonSchema(name: SchemaName): object {
  return z.toJSONSchema(PUBLISHED_SCHEMAS[name], { io: "input" });
}

export interface ModelParameter {
  readonly name: string;
  /** A phrase such as `an integer or null`; empty if only a fit can tell. */
  readonly takes: string;
  readonly choices: readonly string[];
  /** The library's default as JSON text, which distinguishes `1.0` from `1`; null if it has no single value. */
  readonly byDefault: string | null;
}

/** The source of the console's forms: what the service accepts, according to its own schemas. `forms.json` of the console. */
export interface FormSchemas {
  /** The JSON Schema of each operation's payload. */
  readonly payloads: Readonly<Record<SubmittedOperation, object>>;
  /** Of the options of a preparation. */
  readonly prepare: object;
  /** By every name of a model, including aliases: the name under which `parameters` lists it. */
  readonly models: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, readonly ModelParameter[]>>;
  readonly examples: readonly ExampleConfig[];
}
