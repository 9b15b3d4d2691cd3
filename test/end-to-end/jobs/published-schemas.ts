/** The published JSON Schemas as checks, and the strict schemas of this version. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { jsonSchema, type SchemaName } from "../../../src/contract/api/published-schemas.ts";
import { outputBlobSchema } from "../../../src/contract/output/output-blob.ts";
import { replayBlobSchema } from "../../../src/contract/output/replay-blob.ts";
import { resultRecordSchema } from "../../../src/contract/output/result-record.ts";
import { problemSchema } from "../../../src/contract/problems/problem.ts";
import { warningSchema } from "../../../src/contract/problems/warnings.ts";

/** The strict schemas of what this version writes: only these members and names. */
const WRITTEN_SCHEMAS = {
  "result-record": resultRecordSchema,
  "output-blob": outputBlobSchema,
  "replay-blob": replayBlobSchema,
  warning: warningSchema,
  problem: problemSchema,
} as const satisfies Partial<Record<SchemaName, unknown>>;

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** Asserts that `value` matches the published schema, and has no member that this version does not write. */
export function assertValid(name: keyof typeof WRITTEN_SCHEMAS, value: unknown): void {
  const validate = ajv.getSchema(name) ?? ajv.addSchema(jsonSchema(name), name).getSchema(name)!;
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
  const { error } = WRITTEN_SCHEMAS[name].safeParse(value);
  assert.equal(error, undefined, `${name}: ${error}`);
}
