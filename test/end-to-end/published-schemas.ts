/** The published JSON Schemas as checks, and those of what this version writes. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { jsonSchema, WRITTEN_SCHEMAS } from "../../src/contract/api/published-schemas.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** Asserts that `value` is what the published schema says, and has nothing that is not written. */
export function assertValid(name: keyof typeof WRITTEN_SCHEMAS, value: unknown): void {
  const validate = ajv.getSchema(name) ?? ajv.addSchema(jsonSchema(name), name).getSchema(name)!;
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
  const { error } = WRITTEN_SCHEMAS[name].safeParse(value);
  assert.equal(error, undefined, `${name}: ${error}`);
}
